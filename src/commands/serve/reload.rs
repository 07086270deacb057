//! New rules and settings for a service that runs.
//!
//! In: wishes for a reload. Out: what is made of the files as they are now, or what is wrong with them; then the old ones stay.
//! Ports, folders and limits of the service are those of the start: settings that are not in force are named.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::mpsc;

use super::intake::Renewal;
use super::reading::Reading;
use crate::api::{Reload, Runbooks};
use crate::cli::Global;
use crate::commands::setup::{engine, identities, vocabulary};
use crate::commands::{configure, told};
use crate::config::{Config, Overrides, ServeSettings};
use crate::findings::Suppression;
use crate::normalize::identity::IdentitySettings;
use crate::rules::{self, Corpus, Engine, render};
use crate::tls::{Fresh as FreshTls, Tls};

/// Reads rules and settings anew.
pub(super) struct Reloading {
    pub(super) global: Global,
    /// What was given on the command line.
    pub(super) given: Overrides,
    pub(super) reloads: mpsc::Receiver<Reload>,
    /// The settings of the service that it was started with.
    pub(super) started: ServeSettings,
    /// Certificates that are in use.
    pub(super) tls: Vec<Arc<Tls>>,
    /// What to do about findings, as the rules in force say.
    pub(super) runbooks: Arc<ArcSwap<Runbooks>>,
    /// To who reads what comes.
    pub(super) renewals: mpsc::Sender<Renewal>,
}

/// What the files say now.
pub(super) struct Fresh {
    pub(super) engine: Engine,
    pub(super) names: IdentitySettings,
    /// After how long what happened is over.
    pub(super) active: Option<Duration>,
    /// What is accepted for now.
    pub(super) suppressions: Vec<Suppression>,
    renewal: Renewal,
    certificates: Vec<FreshTls>,
    /// Settings that came to be others since the start.
    needs_restart: Vec<String>,
}

/// The pages of these rules.
pub(super) fn runbooks(corpus: &Corpus) -> Runbooks {
    Runbooks { rules: render::runbooks(corpus), service: render::service_runbooks() }
}

impl Reloading {
    /// Reads the files, and changes nothing.
    ///
    /// # Errors
    /// In words, when the files are not good.
    pub(super) fn read(&self) -> Result<Fresh, String> {
        self.try_read().map_err(|error| told(&error))
    }

    fn try_read(&self) -> anyhow::Result<Fresh> {
        let config: Config = configure(&self.global, self.given.clone())?;
        let engine = engine(&config)?;
        let problems = rules::check(engine.corpus());
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        anyhow::ensure!(told.is_empty(), "{}", told.join("\n"));
        Ok(Fresh {
            engine,
            names: identities(&config),
            active: config.serve.active,
            suppressions: config.suppressions.clone(),
            renewal: Renewal { reading: Reading::of(&config)?, words: vocabulary(&config)? },
            certificates: self.tls.iter().map(|tls| tls.read()).collect::<Result<_, _>>()?,
            needs_restart: self.started.differences(&config.serve),
        })
    }

    /// Brings into force what is not the judge's; what is left for a restart.
    pub(super) async fn apply(&self, fresh: Fresh) -> Vec<String> {
        self.tls.iter().zip(fresh.certificates).for_each(|(tls, fresh)| tls.renew(fresh));
        self.runbooks.store(Arc::new(runbooks(fresh.engine.corpus())));
        // Without an intake the service is about to end.
        _ = self.renewals.send(fresh.renewal).await;
        if !fresh.needs_restart.is_empty() {
            let settings = fresh.needs_restart.join(", ");
            tracing::warn!(%settings, "these settings changed and need a restart to come into force");
        }
        fresh.needs_restart
    }
}
