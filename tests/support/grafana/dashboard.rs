//! A Grafana dashboard around its panels: variables, links, annotations, the grid.
//!
//! In: rows of panels. Out: the dashboard's JSON, in the Classic schema 42, not editable in Grafana.

use serde_json::{Value, json};

use super::panel::{DATASOURCE, Panel};

/// Columns of Grafana's grid.
const WIDTH: usize = 24;

/// Selects what the reader picked.
pub(super) const JOB: &str = r#"job=~"$job""#;

/// A dashboard in the making.
pub(super) struct Dashboard {
    uid: &'static str,
    title: &'static str,
    description: &'static str,
    variables: Vec<Value>,
    annotations: Vec<Value>,
    panels: Vec<Value>,
    /// The first line of the grid that is free.
    line: usize,
    id: usize,
}

impl Dashboard {
    pub(super) fn new(uid: &'static str, title: &'static str, description: &'static str) -> Self {
        let datasource = json!({
            "name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus",
            "current": {}, "hide": 0, "refresh": 1, "regex": "", "multi": false, "includeAll": false, "options": [],
        });
        let new = Self {
            uid,
            title,
            description,
            variables: vec![datasource],
            annotations: Vec::new(),
            panels: Vec::new(),
            line: 0,
            id: 0,
        };
        new.labels("job", "Job", "label_values(a2a_drift_build_info, job)", true)
    }

    /// Lets "All" of the last variable stand for any value. Else it stands for the values that there are, which keeps `up`
    /// and the metrics of processes to a2a-drift, and would be a long list of agents.
    pub(super) fn all_is_any(mut self) -> Self {
        if let Some(variable) = self.variables.last_mut() {
            variable["allValue"] = json!(".*");
        }
        self
    }

    /// Says of the last variable what it is for; Grafana shows it beside the name.
    fn described(mut self, words: &str) -> Self {
        if let Some(variable) = self.variables.last_mut() {
            variable["description"] = json!(words);
        }
        self
    }

    /// Adds a variable that takes values of a label; one or, with `several`, some or all of them.
    pub(super) fn labels(mut self, name: &str, label: &str, query: &str, several: bool) -> Self {
        let current = if several { json!({"selected": true, "text": ["All"], "value": ["$__all"]}) } else { json!({}) };
        self.variables.push(json!({
            "name": name, "label": label, "type": "query", "datasource": {"type": "prometheus", "uid": DATASOURCE},
            "definition": query, "query": {"query": query, "refId": "StandardVariableQuery", "qryType": 1},
            "current": current, "hide": 0, "refresh": 2, "regex": "", "sort": 1, "multi": several,
            "includeAll": several, "options": [],
        }));
        self
    }

    /// Adds a variable that is typed in, such as an address.
    pub(super) fn typed(mut self, name: &str, label: &str, value: &str, words: &str) -> Self {
        self.variables.push(json!({
            "name": name, "label": label, "type": "textbox", "query": value, "hide": 0,
            "current": {"text": value, "value": value}, "options": [{"selected": true, "text": value, "value": value}],
        }));
        self.described(words)
    }

    /// Adds the variables that links lead by: where the findings API and traces are, as a browser reaches them.
    pub(super) fn addresses(self) -> Self {
        let api = "Where your browser reaches the findings API of a2a-drift; links to findings lead there.";
        let traces = "The page of your tracing system that the link Traces leads to.";
        self.typed("api", "Findings API", "http://localhost:9464", api).typed(
            "traces",
            "Traces",
            "http://localhost:16686/search",
            traces,
        )
    }

    /// Marks the instants that an expression gives in milliseconds.
    pub(super) fn marks(mut self, name: &str, colour: &str, expr: &str, title: &str) -> Self {
        self.annotations.push(json!({
            "name": name, "enable": true, "hide": false, "iconColor": colour,
            "datasource": {"type": "prometheus", "uid": DATASOURCE},
            "target": {"refId": "Anno", "expr": expr, "interval": "60s"},
            "titleFormat": title, "textFormat": "", "tagKeys": "", "useValueForTime": true,
        }));
        self
    }

    /// Adds a row of panels, each with its share of the width.
    pub(super) fn row(mut self, title: &str, height: usize, panels: Vec<(usize, Panel)>) -> Self {
        self.id += 1;
        self.panels.push(json!({
            "id": self.id, "type": "row", "title": title, "collapsed": false, "panels": [],
            "gridPos": {"x": 0, "y": self.line, "w": WIDTH, "h": 1},
        }));
        self.line += 1;
        self.more(height, panels)
    }

    /// Adds panels below those of the last row, under the same title.
    pub(super) fn more(mut self, height: usize, panels: Vec<(usize, Panel)>) -> Self {
        let mut column = 0;
        for (width, panel) in panels {
            self.id += 1;
            let place = json!({"x": column, "y": self.line, "w": width, "h": height});
            self.panels.push(panel.json(self.id, place));
            column += width;
        }
        assert_eq!(column, WIDTH, "a row of {} does not fill the grid", self.title);
        self.line += height;
        self
    }

    /// The file.
    pub(super) fn json(self) -> String {
        let link = |title: &str, icon: &str, url: &str, own: bool| {
            json!({
                "title": title, "type": "link", "icon": icon, "url": url, "tooltip": "", "tags": [],
                "asDropdown": false, "includeVars": own, "keepTime": own, "targetBlank": !own,
            })
        };
        // The others keep every choice; back from one agent to the fleet, that of the agent is given up.
        let kept = ["datasource", "job", "severity", "api", "traces", "runbooks"]
            .map(|name| format!("${{{name}:queryparam}}"));
        let fleet = match self.uid {
            "a2a-drift-agent" => {
                let mut fleet = link("Fleet", "dashboard", &format!("/d/a2a-drift-fleet?{}", kept.join("&")), true);
                fleet["includeVars"] = json!(false);
                fleet
            }
            _ => link("Fleet", "dashboard", "/d/a2a-drift-fleet", true),
        };
        let dashboard = json!({
            "uid": self.uid,
            "title": self.title,
            "description": self.description,
            "tags": ["a2a-drift"],
            "schemaVersion": 42,
            "version": 1,
            "editable": false,
            "graphTooltip": 1,
            "timezone": "browser",
            "refresh": "30s",
            "time": {"from": "now-6h", "to": "now"},
            "annotations": {"list": self.annotations},
            "templating": {"list": self.variables},
            "links": [
                fleet,
                link("Agent", "dashboard", "/d/a2a-drift-agent", true),
                link("Service", "dashboard", "/d/a2a-drift-service", true),
                link("Findings with their evidence", "doc", "${api}/api/v1/findings", false),
                link("Traces", "external link", "${traces}", false),
            ],
            "panels": self.panels,
        });
        let mut text = serde_json::to_string_pretty(&dashboard).unwrap();
        text.push('\n');
        text
    }
}
