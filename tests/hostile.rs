//! Input that means harm, or has come to harm: the program says what it could not read and where, still judges what is
//! good beside it, keeps its memory, and lets no secret out.
//!
//! `cargo test --test hostile secrets::` one part. `MUTATIONS=500` more mutations of each capture, and of each file of a foreign
//! format, than the few of a quick run; what fails names the seed that repeats it: `SEED=…`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]
#![allow(unreachable_pub, missing_docs, reason = "a test")]
#![allow(clippy::print_stdout, reason = "memory is worth knowing when a bound fails, and shown with --nocapture")]

#[path = "hostile/bad.rs"]
mod bad;
#[path = "hostile/carriers.rs"]
mod carriers;
#[path = "hostile/crafted.rs"]
mod crafted;
#[path = "hostile/formats.rs"]
mod formats;
#[path = "hostile/logs.rs"]
mod logs;
#[path = "hostile/mutate.rs"]
mod mutate;
#[path = "hostile/program.rs"]
mod program;
#[path = "hostile/secrets.rs"]
mod secrets;
#[path = "hostile/size.rs"]
mod size;

use std::path::PathBuf;

/// Bytes of a file below `tests/captures`.
fn capture(path: &str) -> Vec<u8> {
    std::fs::read(captures().join(path)).unwrap()
}

fn captures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/captures")
}

/// Numbers that look random and follow from a seed (splitmix64).
#[derive(Debug, Clone)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.roll() % bound.max(1) as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.roll().to_le_bytes()[0]).collect()
    }
}
