//! `completions` and `man`: what shells and manual readers know of the command line.
//!
//! In: the argument types. Out: text on standard output, or pages in a folder. Reads no configuration.

use std::path::Path;

use anyhow::{Context, bail};
use clap::CommandFactory;
use clap_mangen::Man as Page;

use super::{Outcome, print};
use crate::cli::{Cli, Completions, Man};

/// Runs `completions`.
pub(super) fn completions(args: &Completions) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "a2a-drift", &mut script);
    print(&String::from_utf8(script).context("completions")?)?;
    Ok(Outcome::Clean)
}

/// Runs `man`.
pub(super) fn man(args: &Man) -> anyhow::Result<Outcome> {
    let mut program = Cli::command();
    program.build();
    match &args.dir {
        None => print(&page(program)?)?,
        Some(folder) => {
            make(folder)?;
            write(folder, "a2a-drift", program)?;
        }
    }
    Ok(Outcome::Clean)
}

/// Makes a folder if it is not there. One within a folder that is not there was hardly meant.
fn make(folder: &Path) -> anyhow::Result<()> {
    match std::fs::create_dir(folder) {
        Err(_) if folder.is_dir() => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let above = folder.parent().unwrap_or(folder);
            bail!("{}: there is no folder {}; make it first", folder.display(), above.display())
        }
        made => made.with_context(|| folder.display().to_string()),
    }
}

/// Writes the page of a command, and those of the commands below it.
fn write(folder: &Path, name: &str, command: clap::Command) -> anyhow::Result<()> {
    for below in command.get_subcommands().filter(|below| below.get_name() != "help" && !below.is_hide_set()) {
        write(folder, &format!("{name}-{}", below.get_name()), below.clone())?;
    }
    let path = folder.join(format!("{name}.1"));
    std::fs::write(&path, page(command.display_name(name.to_owned()))?).with_context(|| path.display().to_string())
}

fn page(command: clap::Command) -> anyhow::Result<String> {
    let mut page = Vec::new();
    let (name, version) = (command.get_display_name().unwrap_or("a2a-drift").to_owned(), env!("CARGO_PKG_VERSION"));
    Page::new(command).title(name).source(format!("a2a-drift {version}")).manual("a2a-drift").render(&mut page)?;
    Ok(String::from_utf8(page)?)
}
