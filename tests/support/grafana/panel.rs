//! Panels of a Grafana dashboard.
//!
//! In: what a panel shows. Out: its JSON, in the Classic schema. Knows neither metrics nor where the panel stands.

use serde_json::{Map, Value, json};

/// The data source that the reader picked.
pub(super) const DATASOURCE: &str = "${datasource}";

/// The colour of what should be known and is not.
const NOT_KNOWN: &str = "purple";

/// The colour of what is neither well nor ill.
const NEITHER: &str = "#5a5d66";

/// How one looks at values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The last value, large.
    Stat,
    /// Values over time, as lines.
    Lines,
    /// Values over time, as areas one upon the other.
    Areas,
    /// Last values, a bar each.
    Bars,
    /// Last values and their labels.
    Table,
    /// A row for each series, a band while it is there.
    Bands,
}

/// A panel.
#[derive(Clone)]
pub(super) struct Panel {
    kind: Kind,
    title: &'static str,
    description: &'static str,
    targets: Vec<Value>,
    defaults: Map<String, Value>,
    options: Map<String, Value>,
    overrides: Vec<Value>,
    transformations: Vec<Value>,
    interval: Option<&'static str>,
    /// The colour of a large value that is not there. It must not be that of all being well.
    absent: &'static str,
}

impl Panel {
    fn new(kind: Kind, title: &'static str, description: &'static str) -> Self {
        Self {
            kind,
            title,
            description,
            targets: Vec::new(),
            defaults: Map::new(),
            options: Map::new(),
            overrides: Vec::new(),
            transformations: Vec::new(),
            interval: None,
            absent: NOT_KNOWN,
        }
    }

    pub(super) fn stat(title: &'static str, description: &'static str) -> Self {
        let mut panel = Self::new(Kind::Stat, title, description);
        panel.set("thresholds", json!({"mode": "absolute", "steps": [{"color": "text", "value": null}]}));
        panel.set("noValue", json!("not watched"));
        panel.options = object(json!({
            "colorMode": "background", "graphMode": "none", "justifyMode": "center", "orientation": "auto",
            "textMode": "value", "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": false},
        }));
        panel
    }

    pub(super) fn lines(title: &'static str, description: &'static str) -> Self {
        Self::over_time(Kind::Lines, title, description, 10, "none")
    }

    pub(super) fn areas(title: &'static str, description: &'static str) -> Self {
        Self::over_time(Kind::Areas, title, description, 60, "normal")
    }

    fn over_time(kind: Kind, title: &'static str, description: &'static str, fill: u8, stacking: &str) -> Self {
        let mut panel = Self::new(kind, title, description);
        panel.set("min", json!(0));
        panel.set("noValue", json!("not watched"));
        panel.set(
            "custom",
            json!({
                "drawStyle": "line", "lineInterpolation": "linear", "lineWidth": 1, "fillOpacity": fill,
                "showPoints": "never", "spanNulls": false, "stacking": {"mode": stacking, "group": "A"},
            }),
        );
        panel.options = object(json!({
            "legend": {
                "displayMode": "list", "placement": "bottom", "showLegend": true, "calcs": ["lastNotNull"],
            },
            "tooltip": {"mode": "multi", "sort": "desc"},
        }));
        panel
    }

    pub(super) fn bars(title: &'static str, description: &'static str) -> Self {
        let mut panel = Self::new(Kind::Bars, title, description);
        panel.set("min", json!(0));
        panel.options = object(json!({
            "displayMode": "basic", "orientation": "horizontal", "showUnfilled": true,
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": false},
        }));
        panel
    }

    /// A time line. Takes expressions whose value says which band, by `words`, and that are nothing where there is none;
    /// shows `rows` at once, and pages for more.
    pub(super) fn bands(title: &'static str, description: &'static str, rows: u8) -> Self {
        let mut panel = Self::new(Kind::Bands, title, description);
        panel.set("custom", json!({"lineWidth": 0, "fillOpacity": 80}));
        panel.set("color", json!({"mode": "thresholds"}));
        panel.options = object(json!({
            "mergeValues": true, "showValue": "auto", "alignValue": "left", "rowHeight": 0.8, "perPage": rows,
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": false, "calcs": []},
            "tooltip": {"mode": "single", "sort": "none"},
        }));
        panel
    }

    pub(super) fn table(title: &'static str, description: &'static str) -> Self {
        let mut panel = Self::new(Kind::Table, title, description);
        panel.options = object(json!({"showHeader": true, "cellHeight": "sm"}));
        panel
    }

    /// Adds an expression. Of a table it is a column, `value`; else a line for each series, called by `legend`.
    pub(super) fn query(mut self, expr: &str, legend: &str) -> Self {
        let id = char::from(b'A' + u8::try_from(self.targets.len()).unwrap()).to_string();
        // A last value would outlive what it was of: that of a service that went down, or of a call an hour ago.
        let is_now = matches!(self.kind, Kind::Stat | Kind::Table | Kind::Bars);
        self.targets.push(json!({
            "datasource": {"type": "prometheus", "uid": DATASOURCE},
            "refId": id,
            "expr": expr,
            "legendFormat": legend,
            "instant": is_now,
            "range": !is_now,
            "format": if self.kind == Kind::Table { "table" } else { "time_series" },
            "exemplar": false,
        }));
        self
    }

    /// Shows with the last expression the traces that it came from.
    pub(super) fn with_traces(mut self) -> Self {
        if let Some(target) = self.targets.last_mut() {
            target["exemplar"] = json!(true);
        }
        self
    }

    pub(super) fn unit(mut self, unit: &str) -> Self {
        self.set("unit", json!(unit));
        self
    }

    pub(super) fn max(mut self, max: f64) -> Self {
        self.set("max", json!(max));
        self
    }

    /// What stands there without a value, where that is nothing to worry about.
    pub(super) fn without_value(mut self, words: &str) -> Self {
        self.set("noValue", json!(words));
        self.absent = NEITHER;
        self
    }

    /// Counts, of which there are no parts.
    pub(super) fn counts(mut self) -> Self {
        self.defaults["custom"]["axisSoftMax"] = json!(1);
        self.set("decimals", json!(0));
        self.unit("short")
    }

    /// Where a click on the value leads.
    pub(super) fn leads_to(mut self, links: Value) -> Self {
        self.set("links", links);
        self
    }

    /// Green, and from these values on in these colours.
    pub(super) fn colours(mut self, steps: &[(f64, &str)]) -> Self {
        let mut all = vec![json!({"color": "green", "value": null})];
        all.extend(steps.iter().map(|(value, colour)| json!({"color": colour, "value": value})));
        self.set("thresholds", json!({"mode": "absolute", "steps": all}));
        self.set("color", json!({"mode": "thresholds"}));
        self
    }

    /// No judgement by colour.
    pub(super) fn plain(mut self) -> Self {
        self.options.insert("colorMode".to_owned(), json!("none"));
        self
    }

    /// Words in place of values.
    pub(super) fn words(mut self, words: &[(&str, &str, &str)]) -> Self {
        let words: Map<String, Value> = words
            .iter()
            .enumerate()
            .map(|(index, (value, text, colour))| {
                ((*value).to_owned(), json!({"text": text, "color": colour, "index": index}))
            })
            .collect();
        self.set("mappings", json!([{"type": "value", "options": words}]));
        self
    }

    /// The values of a label rather than those of the series: of a name Grafana would show nothing where there is none.
    pub(super) fn names(mut self, label: &str) -> Self {
        self.options["reduceOptions"] =
            json!({"calcs": ["lastNotNull"], "fields": format!("/^{label}$/"), "values": true});
        for target in &mut self.targets {
            target["format"] = json!("table");
        }
        self
    }

    /// Values as bars of their own: for what happens at instants.
    pub(super) fn spikes(mut self) -> Self {
        // With shorter steps the windows of the rate overlap, and what happened once is counted several times.
        self.interval = Some("1m");
        self.set(
            "custom",
            json!({
                "drawStyle": "bars", "lineWidth": 1, "fillOpacity": 80, "showPoints": "never",
                "stacking": {"mode": "normal", "group": "A"},
            }),
        );
        self
    }

    /// One row a group of labels: these columns in this order, each a label or `Value #A` and its heading; the rows with
    /// the greatest value of the column `first` on top. Other columns are left out.
    pub(super) fn columns(mut self, columns: &[(&str, &str)], first: &str) -> Self {
        let names: Map<String, Value> = columns.iter().map(|(from, to)| ((*from).to_owned(), json!(to))).collect();
        let order: Map<String, Value> =
            columns.iter().enumerate().map(|(at, (from, _))| ((*from).to_owned(), json!(at))).collect();
        let values = self.targets.iter().map(|target| match self.targets.len() {
            1 => "Value".to_owned(),
            _ => format!("Value #{}", target["refId"].as_str().unwrap_or_default()),
        });
        let left_out = values.chain(["Time", "agent"].map(str::to_owned)).filter(|name| !names.contains_key(name));
        let left_out: Map<String, Value> = left_out.map(|name| (name, json!(true))).collect();
        self.transformations = vec![
            json!({"id": "merge", "options": {}}),
            json!({"id": "sortBy", "options": {"fields": {}, "sort": [{"field": first, "desc": true}]}}),
            json!({
                "id": "organize",
                "options": {"excludeByName": left_out, "indexByName": order, "renameByName": names},
            }),
        ];
        self
    }

    /// How a column, or series of this name, differs from the others.
    pub(super) fn of(mut self, name: &str, properties: &[(&str, Value)]) -> Self {
        let properties: Vec<Value> = properties.iter().map(|(id, value)| json!({"id": id, "value": value})).collect();
        self.overrides.push(json!({"matcher": {"id": "byName", "options": name}, "properties": properties}));
        self
    }

    /// Series of these names in these colours.
    pub(super) fn coloured(self, colours: &[(&str, &str)]) -> Self {
        colours.iter().fold(self, |panel, (name, colour)| {
            panel.of(name, &[("color", json!({"mode": "fixed", "fixedColor": colour}))])
        })
    }

    fn set(&mut self, key: &str, value: Value) {
        self.defaults.insert(key.to_owned(), value);
    }

    /// The panel at its place.
    pub(super) fn json(mut self, id: usize, place: Value) -> Value {
        let kind = match self.kind {
            Kind::Stat => "stat",
            Kind::Lines | Kind::Areas => "timeseries",
            Kind::Bars => "bargauge",
            Kind::Table => "table",
            Kind::Bands => "state-timeline",
        };
        if self.kind == Kind::Stat {
            let none = json!({"text": self.defaults["noValue"], "color": self.absent, "index": 100});
            let none = json!({"type": "special", "options": {"match": "null", "result": none}});
            self.defaults.entry("mappings").or_insert_with(|| json!([])).as_array_mut().unwrap().push(none);
        }
        let mut panel = json!({
            "id": id,
            "type": kind,
            "title": self.title,
            "description": self.description,
            "datasource": {"type": "prometheus", "uid": DATASOURCE},
            "gridPos": place,
            "targets": self.targets,
            "fieldConfig": {"defaults": self.defaults, "overrides": self.overrides},
            "options": self.options,
            "transformations": self.transformations,
        });
        if let Some(interval) = self.interval {
            panel["interval"] = json!(interval);
        }
        panel
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}
