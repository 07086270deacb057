//! The `a2a-drift` program: arguments in, exit code out.

use std::process::ExitCode;

use a2a_drift::cli::Cli;
use a2a_drift::commands;
use clap::Parser;

fn main() -> ExitCode {
    commands::run(Cli::parse())
}
