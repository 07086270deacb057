//! The corpus: all rules and views, in the order in which they can be evaluated.
//!
//! In: a folder of query files, or the one in the binary. Out: [`Corpus`], or every problem that keeps it from being one.
//! Never plans SQL.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::dependency::in_order;
use super::files::{self, File};
use super::header::{self, Read, RuleHeader, ViewHeader};
use super::problem::{Problem, listed, near};
use super::query::Query;
use super::source::{Place, Section, Source};
use super::{reach, shape, stack, subset};
use crate::tables::Facts;

/// Rules and views.
#[derive(Debug, Clone)]
pub struct Corpus {
    /// Views; each reads facts and views before it.
    pub views: Vec<View>,
    /// Rules; each reads facts, views and rules before it.
    pub rules: Vec<Rule>,
}

/// A rule.
#[derive(Debug, Clone)]
pub struct Rule {
    /// File stem.
    pub id: String,
    /// Folder.
    pub category: String,
    /// File.
    pub path: PathBuf,
    /// Header.
    pub header: RuleHeader,
    /// Runbook, by section.
    pub runbook: Vec<Section>,
    /// Query.
    pub query: Query,
    pub(super) source: Source,
    /// Whether its header is as it must be; else it can be looked at and not be run.
    pub(super) is_whole: bool,
}

/// A view.
#[derive(Debug, Clone)]
pub struct View {
    /// File stem.
    pub name: String,
    /// File.
    pub path: PathBuf,
    /// Header.
    pub header: ViewHeader,
    /// Notes below the header.
    pub notes: Vec<Section>,
    /// Query.
    pub query: Query,
    pub(super) source: Source,
    /// Whether its header is as it must be; else it can be looked at and not be run.
    pub(super) is_whole: bool,
}

impl View {
    /// Whether it is run once and kept, rather than inline text.
    pub fn is_stored(&self) -> bool {
        self.header.by.is_some()
    }
}

/// Why there is no corpus.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A folder or file could not be read.
    #[error("cannot read {path}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Query files are not what they must be.
    #[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid {
        /// What is wrong.
        problems: Vec<Problem>,
        /// The files that hold together, for checks that say all in one turn.
        rest: Box<Corpus>,
    },
    /// The system gave no thread to parse in.
    #[error("cannot start a thread to read queries in")]
    Thread(#[source] std::io::Error),
}

impl CorpusError {
    /// A folder that is none of queries.
    pub(super) fn no_corpus(folder: &Path, message: &str) -> Self {
        let rest = Box::new(Corpus { views: Vec::new(), rules: Vec::new() });
        Self::Invalid { problems: vec![Problem::at(folder, (1, 1), message)], rest }
    }
}

impl Corpus {
    /// The corpus in the binary.
    ///
    /// # Errors
    /// When it does not hold together, which the tests of this crate rule out.
    pub fn embedded() -> Result<Self, CorpusError> {
        Self::read(files::embedded(), false, Path::new("queries"))
    }

    /// The corpus in a folder that has `rules/<category>/<id>.sql` and `views/<name>.sql`. Views that its queries read and that
    /// are not there are the built-in ones.
    ///
    /// # Errors
    /// When a file cannot be read, or the corpus does not hold together: then every problem found is told.
    pub fn from_dir(dir: &Path) -> Result<Self, CorpusError> {
        Self::read(files::of(dir)?, true, dir)
    }

    /// The corpus in a folder, else the built-in one; and what another folder has beside it, or instead where it has a file of
    /// the same path.
    ///
    /// # Errors
    /// As [`Corpus::from_dir`].
    pub fn of(base: Option<&Path>, beside: Option<&Path>) -> Result<Self, CorpusError> {
        let mut all = base.map_or_else(|| Ok(files::embedded()), files::of)?;
        if let Some(beside) = beside {
            let own = files::of(beside)?;
            all.retain(|file| !own.iter().any(|own| own.within == file.within));
            all.extend(own);
        }
        Self::read(all, base.is_some(), base.or(beside).unwrap_or(Path::new("queries")))
    }

    fn read(mut files: Vec<File>, lends: bool, folder: &Path) -> Result<Self, CorpusError> {
        files.sort();
        let corpus =
            stack::deep(|| Loader { lends, ..Loader::default() }.load(files)).map_err(CorpusError::Thread)??;
        // Without rules everything looks well.
        if corpus.rules.is_empty() {
            let message = "there is no rule in this folder: rules are `rules/<category>/<id>.sql`";
            return Err(CorpusError::no_corpus(folder, message));
        }
        Ok(corpus)
    }

    /// A rule by its id.
    pub fn rule(&self, id: &str) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    /// A view by its name.
    pub fn view(&self, name: &str) -> Option<&View> {
        self.views.iter().find(|view| view.name == name)
    }

    /// Tables, stored views and rules that a query reads, itself or by inline views; and these inline views.
    pub(super) fn inputs(&self, query: &Query) -> (BTreeSet<&str>, BTreeSet<&str>) {
        let (mut inputs, mut inline) = (BTreeSet::new(), BTreeSet::new());
        let mut waiting: Vec<&str> = query.reads.iter().map(String::as_str).collect();
        while let Some(name) = waiting.pop() {
            match self.views.iter().find(|view| view.name == name) {
                Some(view) if !view.is_stored() => {
                    inline.insert(view.name.as_str());
                    waiting.extend(view.query.reads.iter().map(String::as_str));
                }
                Some(view) => {
                    inputs.insert(view.name.as_str());
                }
                None => {
                    let rule = self.rules.iter().find(|rule| rule.id == name).map(|rule| rule.id.as_str());
                    let table = || Facts::schemas().into_iter().map(|(table, _)| table).find(|table| *table == name);
                    inputs.extend(rule.or_else(table));
                }
            }
        }
        (inputs, inline)
    }

    /// Whether the rows of a table or stored view are what card bodies say, whoever saw them.
    pub(super) fn is_of_a_body(&self, name: &str) -> bool {
        let by_body = |view: &View| view.header.by.as_deref().is_some_and(|by| by == [reach::BODY]);
        shape::is_of_a_body(name) || self.view(name).is_some_and(by_body)
    }
}

#[derive(Default)]
struct Loader {
    /// Whether built-in views are there for queries that read them.
    lends: bool,
    views: Vec<View>,
    rules: Vec<Rule>,
    problems: Vec<Problem>,
    /// Names of files that cannot be read at all: that is told, and not that there are none of their names.
    broken: BTreeSet<String>,
}

impl Loader {
    fn load(mut self, files: Vec<File>) -> Result<Corpus, CorpusError> {
        for File { path, within, bytes } in files {
            let parts: Vec<String> = within.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            let result = match parts[..] {
                [.., name] if name.starts_with('.') => continue,
                ["rules", category, file] => self.rule(&path, category, file, bytes),
                ["views", file] => self.view(&path, file, bytes),
                ["rules" | "views", ..] => Err((
                    (1, 1),
                    "rules are `rules/<category>/<id>.sql` and views `views/<name>.sql`, and nothing else is there"
                        .to_owned(),
                )),
                _ => continue,
            };
            if let Err((place, message)) = result {
                self.problems.push(Problem::at(&path, place, message));
                self.broken.extend(within.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
            }
        }
        if self.lends {
            self.lend();
        }
        self.check_names();
        let holds_together = self.problems.is_empty();
        if !holds_together {
            self.check_queries();
        }
        let views = in_order(self.views, &mut self.problems);
        let rules = in_order(self.rules, &mut self.problems);
        let corpus = Corpus { views, rules };
        match self.problems.is_empty() {
            true => Ok(corpus),
            false => Err(CorpusError::Invalid { problems: self.problems, rest: Box::new(corpus) }),
        }
    }

    fn rule(&mut self, path: &Path, category: &str, file: &str, bytes: Vec<u8>) -> Result<(), (Place, String)> {
        let id = stem(file)?;
        if !is_name(category) {
            return Err(((1, 1), format!("`{category}` is no category: lower case letters, digits and `_`")));
        }
        let (text, source) = cut(bytes)?;
        for (place, message) in source.runbook_problems() {
            self.problems.push(Problem::at(path, place, message));
        }
        let (header, query, is_whole) = self.parts::<RuleHeader>(path, &text, &source)?;
        let (category, path, runbook) = (category.to_owned(), path.to_owned(), source.sections.clone());
        self.rules.push(Rule { id, category, path, header, runbook, query, source, is_whole });
        Ok(())
    }

    fn view(&mut self, path: &Path, file: &str, bytes: Vec<u8>) -> Result<(), (Place, String)> {
        let name = stem(file)?;
        let (text, source) = cut(bytes)?;
        let (header, query, is_whole) = self.parts::<ViewHeader>(path, &text, &source)?;
        let notes = source.sections.clone();
        self.views.push(View { name, path: path.to_owned(), header, notes, query, source, is_whole });
        Ok(())
    }

    /// Header and query of a file, and whether the header is as it must be. What is wrong with one does not keep the other from
    /// being looked at.
    fn parts<T: DeserializeOwned>(
        &mut self,
        path: &Path,
        text: &str,
        source: &Source,
    ) -> Result<(T, Query, bool), (Place, String)> {
        let query = Query::parse(text, source.sql_line);
        let Read { header, mut problems } = header::read::<T>(source);
        let is_whole = problems.is_empty();
        problems.extend(query.as_ref().err().cloned());
        let last = if header.is_some() && query.is_ok() { None } else { problems.pop() };
        self.problems.extend(problems.into_iter().map(|(at, message)| Problem::at(path, at, message)));
        match (header, query, last) {
            (Some(header), Ok(query), None) => Ok((header, query, is_whole)),
            (.., last) => Err(last.unwrap_or(((1, 1), "the file cannot be read".to_owned()))),
        }
    }

    /// What can be said of queries whose corpus does not hold together.
    fn check_queries(&mut self) {
        let views = self.views.iter().map(|view| (&view.path, &view.query, &view.header.params));
        let rules = self.rules.iter().map(|rule| (&rule.path, &rule.query, &rule.header.params));
        for (path, query, params) in views.chain(rules) {
            let outside = subset::problems(query, params).problems;
            self.problems.extend(outside.into_iter().map(|(at, message)| Problem::at(path, at, message)));
        }
    }

    /// Names of built-in views that queries may read.
    fn lendable(&self) -> impl Iterator<Item = String> {
        files::embedded_views().filter(|_| self.lends).map(|(name, _)| name)
    }

    /// Adds the built-in views that queries read and the folder does not have, and those that these read.
    fn lend(&mut self) {
        loop {
            let have: BTreeSet<&str> = self
                .views
                .iter()
                .map(|view| view.name.as_str())
                .chain(self.rules.iter().map(|rule| rule.id.as_str()))
                .collect();
            let queries = self.views.iter().map(|view| &view.query).chain(self.rules.iter().map(|rule| &rule.query));
            let lacking: BTreeSet<String> =
                queries.flat_map(|query| &query.reads).filter(|read| !have.contains(read.as_str())).cloned().collect();
            let lent: Vec<File> =
                files::embedded_views().filter(|(name, _)| lacking.contains(name)).map(|(_, file)| file).collect();
            if lent.is_empty() {
                return;
            }
            for File { path, bytes, .. } in lent {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if let Err((place, message)) = self.view(&path, &name, bytes) {
                    self.problems.push(Problem::at(&path, place, message));
                    return;
                }
            }
        }
    }

    /// Names are unique, and what a query reads exists.
    fn check_names(&mut self) {
        let tables: BTreeSet<String> = Facts::schemas().into_iter().map(|(name, _)| name.to_owned()).collect();
        let views: BTreeSet<String> = self.views.iter().map(|view| view.name.clone()).collect();
        let rules: BTreeSet<String> = self.rules.iter().map(|rule| rule.id.clone()).collect();
        let mut taken: BTreeSet<&str> = tables.iter().map(String::as_str).collect();
        let queries = self.views.iter().map(|v| (&v.path, &v.name, &v.query, false));
        for (path, name, query, is_rule) in queries.chain(self.rules.iter().map(|r| (&r.path, &r.id, &r.query, true))) {
            if !taken.insert(name) {
                let message = format!("the name `{name}` is taken by a table, a view or another rule");
                self.problems.push(Problem::at(path, (1, 1), message));
            }
            for read in &query.reads {
                let is_there = tables.contains(read) || views.contains(read) || (is_rule && rules.contains(read));
                let known = is_there || self.broken.contains(read);
                if !known {
                    let what = if is_rule { "table, view or rule" } else { "table or view" };
                    let rules = rules.iter().filter(|_| is_rule).cloned();
                    let valid = tables.iter().chain(&views).cloned().chain(rules).chain(self.lendable());
                    let valid: BTreeSet<String> = valid.collect();
                    let near = near(read, valid.iter().map(String::as_str));
                    let message = format!("no {what} `{read}`{near}; there are {}", listed(valid));
                    self.problems.push(Problem::at(path, query.place_of(read), message));
                }
            }
            for (cte, place) in &query.ctes {
                if tables.contains(cte) || views.contains(cte) || rules.contains(cte) {
                    let message = format!("`WITH {cte}` hides the table, view or rule of that name");
                    self.problems.push(Problem::at(path, *place, message));
                }
            }
        }
    }
}

fn cut(bytes: Vec<u8>) -> Result<(String, Source), (Place, String)> {
    let text = String::from_utf8(bytes).map_err(|_| ((1, 1), "the file is not UTF-8".to_owned()))?;
    let source = Source::cut(&text)?;
    Ok((text, source))
}

fn stem(file: &str) -> Result<String, (Place, String)> {
    file.strip_suffix(".sql").filter(|stem| is_name(stem)).map(str::to_owned).ok_or_else(|| {
        ((1, 1), "the file's name is `<name>.sql`, the name of lower case letters, digits and `_`".to_owned())
    })
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}
