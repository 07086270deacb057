//! New rules and settings for a service that runs.
//!
//! In: wishes for a reload. Out: an engine made of the files as they are now, or what is wrong with them; then the old ones
//! stay. Ports, folders and limits are those of the start: to change them, the service is started anew.

use tokio::sync::mpsc;

use crate::api::Reload;
use crate::cli::Global;
use crate::commands::configure;
use crate::commands::setup::engine;
use crate::config::{Config, Overrides};
use crate::rules::{self, Engine};

/// Reads rules and settings anew.
pub(super) struct Reloading {
    pub(super) global: Global,
    pub(super) reloads: mpsc::Receiver<Reload>,
    /// The settings that the service runs with.
    pub(super) running: Config,
}

impl Reloading {
    /// An engine of what the files say now.
    ///
    /// # Errors
    /// In words, when the files are not good.
    pub(super) fn read(&mut self) -> Result<Engine, String> {
        let read = || -> anyhow::Result<(Config, Engine)> {
            let mut config = configure(&self.global, Overrides::default())?;
            config.serve = self.running.serve.clone();
            let engine = engine(&config)?;
            let problems = rules::check(engine.corpus());
            let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
            anyhow::ensure!(told.is_empty(), "{}", told.join("\n"));
            Ok((config, engine))
        };
        let (config, engine) = read().map_err(|error| format!("{error:#}"))?;
        self.running = config;
        Ok(engine)
    }
}
