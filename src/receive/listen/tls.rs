//! Certificates to a TLS acceptor.
//!
//! In: paths of PEM files. Out: an acceptor that offers HTTP/2 and HTTP/1.1. Never logs a key, and never accepts less
//! than TLS 1.2.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use super::settings::TlsSettings;

/// Why the listeners cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
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

/// Makes the acceptor.
pub(super) fn acceptor(settings: &TlsSettings) -> Result<TlsAcceptor, ListenError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let unusable = |path: &Path| {
        let path = path.display().to_string();
        |source: Box<dyn std::error::Error + Send + Sync>| ListenError::Unusable { path, source }
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
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ListenError> {
    let pem = |source| ListenError::Pem { path: path.display().to_string(), what: "certificate", source };
    let all: Vec<_> = CertificateDer::pem_file_iter(path).map_err(pem)?.collect::<Result<_, _>>().map_err(pem)?;
    if all.is_empty() {
        return Err(ListenError::NoCertificate { path: path.display().to_string() });
    }
    Ok(all)
}

fn key(path: &Path) -> Result<PrivateKeyDer<'static>, ListenError> {
    PrivateKeyDer::from_pem_file(path).map_err(|source| ListenError::Pem {
        path: path.display().to_string(),
        what: "private key",
        source,
    })
}
