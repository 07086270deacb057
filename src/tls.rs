//! Certificates to TLS, for the receivers and for the API.
//!
//! In: paths of PEM files. Out: an acceptor, made of the files as they were read last: certificates are renewed while a service
//! runs. Never logs a key, and never accepts less than TLS 1.2.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;

use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file that cannot be read, or is no PEM of the kind it should be.
    #[error("{path}: no {what} can be read from this file")]
    Pem {
        /// The file.
        path: String,
        /// `certificate` or `private key`.
        what: &'static str,
        /// Its fault.
        source: PemError,
    },
    /// A file without what it is for.
    #[error("{path}: holds no certificate")]
    NoCertificate {
        /// The file.
        path: String,
    },
    /// Certificate and key that cannot be used, or not together.
    #[error("{path}: cannot be used for TLS")]
    Unusable {
        /// The file at fault, or the certificate's.
        path: String,
        /// The reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Files of a certificate and its key, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// Certificates of the server, its own first.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Authorities of which a client's certificate must be; without, none is asked for.
    pub client_authorities: Option<PathBuf>,
}

/// TLS with the certificate that was read last. Connections that are there keep the one that they began with.
#[derive(Debug)]
pub struct Tls {
    settings: TlsSettings,
    protocols: &'static [&'static str],
    config: ArcSwap<ServerConfig>,
}

/// What the files hold now.
#[derive(Debug)]
pub struct Fresh(Arc<ServerConfig>);

impl Tls {
    /// Reads the files; `protocols` are those that are offered by ALPN, the best first.
    ///
    /// # Errors
    /// When the files cannot be used.
    pub fn new(settings: TlsSettings, protocols: &'static [&'static str]) -> Result<Self, TlsError> {
        let config = ArcSwap::from_pointee(read(&settings, protocols)?);
        Ok(Self { settings, protocols, config })
    }

    /// Reads the files again, and leaves everything as it is.
    ///
    /// # Errors
    /// When the files cannot be used.
    pub fn read(&self) -> Result<Fresh, TlsError> {
        read(&self.settings, self.protocols).map(|config| Fresh(Arc::new(config)))
    }

    /// New connections get what was read.
    pub fn renew(&self, fresh: Fresh) {
        self.config.store(fresh.0);
    }

    /// What connections are accepted with now.
    pub fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.config.load_full())
    }
}

fn read(settings: &TlsSettings, protocols: &[&str]) -> Result<ServerConfig, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let unusable = |path: &Path| {
        let path = path.display().to_string();
        |source: Box<dyn std::error::Error + Send + Sync>| TlsError::Unusable { path, source }
    };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&settings.certificate)(error.into()))?;
    let builder = match &settings.client_authorities {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|error| unusable(path)(error.into()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| unusable(path)(error.into()))?)
        }
    };
    let mut config = builder
        .with_single_cert(certificates(&settings.certificate)?, key(&settings.key)?)
        .map_err(|error| unusable(&settings.certificate)(error.into()))?;
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    Ok(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let pem = |source| TlsError::Pem { path: path.display().to_string(), what: "certificate", source };
    let all: Vec<_> = CertificateDer::pem_file_iter(path).map_err(pem)?.collect::<Result<_, _>>().map_err(pem)?;
    if all.is_empty() {
        return Err(TlsError::NoCertificate { path: path.display().to_string() });
    }
    Ok(all)
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(path).map_err(|source| TlsError::Pem {
        path: path.display().to_string(),
        what: "private key",
        source,
    })
}
