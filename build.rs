//! Rebuilds when a query file comes or goes: the compiler sees changes of embedded files, but no new ones.

fn main() {
    println!("cargo:rerun-if-changed=queries/rules");
    println!("cargo:rerun-if-changed=queries/views");
}
