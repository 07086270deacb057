//! Where a line was written, by the names that OpenTelemetry has for it.
//!
//! In: labels and metadata as carriers spell them. Out: resource attributes. A service's name is taken from what is given to
//! all replicas of one program, never from the name of a container, a pod or a log group: those are places, and a wrong name
//! is worse than none.

use serde_json::{Map, Value};

use crate::decode::record::Attributes;

/// Labels of one line.
const MOST_LABELS: usize = 64;
/// Bytes of one label.
const LONGEST: usize = 512;

/// Labels of a pod that name the program in it, in order of how sure they are; agents of logs write dots and slashes as
/// underscores.
pub(super) const POD_SERVICE: [&str; 5] =
    ["app.kubernetes.io/name", "app_kubernetes_io/name", "app_kubernetes_io_name", "k8s-app", "app"];

/// Containers beside the program's own, which the labels of their pod do not name.
const SIDECARS: [&str; 8] = [
    "istio-proxy",
    "istio-init",
    "linkerd-proxy",
    "envoy",
    "envoy-sidecar",
    "consul-dataplane",
    "daprd",
    "kuma-sidecar",
];

/// What Kubernetes says of a line: the attribute, and where Fluent Bit and Fluentd, Vector, and Beats put it.
const KUBERNETES: [(&str, &[&str]); 9] = [
    ("k8s.namespace.name", &["namespace_name", "pod_namespace", "namespace"]),
    ("k8s.pod.name", &["pod_name", "pod.name"]),
    ("k8s.pod.uid", &["pod_id", "pod_uid", "pod.uid"]),
    ("k8s.container.name", &["container_name", "container.name"]),
    ("k8s.node.name", &["host", "pod_node_name", "node.name", "node_name"]),
    ("k8s.deployment.name", &["deployment.name", "deployment_name"]),
    ("container.id", &["docker_id", "container_id", "container.id"]),
    ("container.image.name", &["container_image", "container.image"]),
    ("k8s.cluster.name", &["cluster_name", "cluster.name"]),
];

/// Labels under construction.
#[derive(Debug, Clone, Default)]
pub(super) struct Labels(Attributes);

impl Labels {
    /// Adds a label that is a text or a number.
    pub(super) fn text(&mut self, name: &str, value: Option<&Value>) {
        let text = match value {
            Some(Value::String(text)) if !text.is_empty() && text.len() <= LONGEST => Value::from(text.as_str()),
            Some(Value::Number(number)) => Value::from(number.to_string()),
            _ => return,
        };
        if self.0.0.len() < MOST_LABELS && self.0.get(name).is_none() {
            self.0.0.push((name.to_owned(), text));
        }
    }

    /// Adds the name of the service, by the first of some labels that there is.
    pub(super) fn service(&mut self, labels: &Map<String, Value>, names: &[&str]) {
        for name in names {
            self.text("service.name", labels.get(*name));
        }
    }

    /// Adds the labels that others have and these do not.
    pub(super) fn add(&mut self, others: &Self) {
        others.0.0.iter().for_each(|(name, value)| self.text(name, Some(value)));
    }

    /// Adds what Kubernetes says.
    pub(super) fn kubernetes(&mut self, kubernetes: &Map<String, Value>) {
        for (name, paths) in KUBERNETES {
            for path in paths {
                self.text(name, at(kubernetes, path));
            }
        }
        let labels = ["labels", "pod_labels"].iter().find_map(|name| kubernetes.get(*name)?.as_object());
        let Some(labels) = labels else { return };
        if !self.is_sidecar() {
            self.service(labels, &POD_SERVICE);
        }
        for (name, value) in labels {
            self.text(&format!("k8s.pod.label.{name}"), Some(value));
        }
    }

    /// Whether the container is one beside the program's own.
    pub(super) fn is_sidecar(&self) -> bool {
        let container = self.0.get("k8s.container.name").and_then(Value::as_str);
        container.is_some_and(|name| SIDECARS.contains(&name))
    }

    /// The labels.
    pub(super) fn done(self) -> Attributes {
        self.0
    }
}

/// A member by its name, or by the names on the way to it.
fn at<'v>(map: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    let mut names = path.split('.');
    let first = map.get(names.next()?)?;
    names.try_fold(first, |value, name| value.get(name))
}
