//! The SQL of a query file: parsed, and which tables it reads.
//!
//! In: the whole text of the file, so that lines in messages are those of the file. Out: one parsed query.
//! Never plans or runs it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::error::DataFusionError;
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::{
    ObjectName, Query as SqlQuery, Spanned, Statement as SqlStatement, Visit, Visitor,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, Tokenizer, Whitespace};

use super::mistake;
use super::source::Place;

/// A parsed query.
#[derive(Debug, Clone)]
pub struct Query {
    /// The file's text, header and all.
    pub text: String,
    /// First line of the SQL.
    pub line: usize,
    /// Tables, views and rules that it reads, sorted.
    pub reads: Vec<String>,
    pub(super) statement: SqlStatement,
    /// Names of its CTEs and where they stand.
    pub(super) ctes: Vec<(String, Place)>,
    /// Relations and where they first stand, CTEs included.
    pub(super) relations: Vec<(String, Place)>,
}

impl Query {
    /// Parses the text of a file whose SQL begins on a line.
    pub(super) fn parse(text: &str, line: usize) -> Result<Self, (Place, String)> {
        refuse(text, line)?;
        let mut statements = DFParserBuilder::new(text)
            .with_dialect(&GenericDialect {})
            .build()
            .and_then(|mut parser| parser.parse_statements())
            .map_err(|error| parse_error(&error, text, line))?;
        let statement = match (statements.pop_front(), statements.pop_front()) {
            (Some(Statement::Statement(statement)), None) if matches!(*statement, SqlStatement::Query(_)) => *statement,
            (_, Some(_)) => return Err(((line, 1), "a file holds one query, not several".to_owned())),
            _ => return Err(((line, 1), "a file holds one query: `SELECT` or `WITH`".to_owned())),
        };
        let mut names = Names::default();
        let _ = Visit::visit(&statement, &mut names);
        let ctes: BTreeSet<&str> = names.ctes.iter().map(|(name, _)| name.as_str()).collect();
        let reads: BTreeSet<&str> =
            names.relations.iter().map(|(name, _)| name.as_str()).filter(|name| !ctes.contains(name)).collect();
        let reads = reads.into_iter().map(str::to_owned).collect();
        Ok(Self { text: text.to_owned(), line, reads, statement, ctes: names.ctes, relations: names.relations })
    }

    /// The query alone, without header and runbook.
    pub(super) fn sql(&self) -> String {
        self.text.lines().skip(self.line - 1).map(|line| format!("{line}\n")).collect()
    }

    /// Where a relation first stands in the file.
    pub(super) fn place_of(&self, relation: &str) -> Place {
        self.relations.iter().find(|(name, _)| name == relation).map_or((self.line, 1), |(_, place)| *place)
    }
}

/// A place of the parser; line 0 is its way to say that it does not know.
pub(super) fn place(at: Location) -> Option<Place> {
    (at.line > 0).then_some((at.line as usize, at.column as usize))
}

/// What the parser says, and where.
fn parse_error(error: &DataFusionError, text: &str, line: usize) -> (Place, String) {
    let message = match error.find_root() {
        DataFusionError::SQL(error, _) => match error.as_ref() {
            ParserError::ParserError(message) | ParserError::TokenizerError(message) => message.clone(),
            ParserError::RecursionLimitExceeded => "the query is nested too deeply".to_owned(),
        },
        other => other.strip_backtrace(),
    };
    // Where a text ends too early the parser names no place: it is the end.
    let end = || text.lines().last().map_or((line, 1), |last| (text.lines().count(), last.chars().count() + 1));
    let message_alone = message.split(" at Line: ").next().unwrap_or_default();
    let place =
        place_in(&message).unwrap_or_else(|| if message_alone.ends_with("found: EOF") { end() } else { (line, 1) });
    (place, mistake::ungrammatical(message_alone))
}

/// The `Line: 3, Column: 14` within a message of the parser.
fn place_in(message: &str) -> Option<Place> {
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok();
    let (_, line) = message.split_once("Line: ")?;
    let (_, column) = line.split_once("Column: ")?;
    Some((digits(line)?, digits(column)?))
}

/// Operators of a query. Each may lie within the one before, and engines follow them by recursion.
const MOST_CHAINED: usize = 4000;

/// Whether a token joins two expressions to one.
fn chains(token: &Token) -> bool {
    match token {
        Token::Word(word) => matches!(word.keyword, Keyword::AND | Keyword::OR | Keyword::UNION),
        Token::Plus | Token::Minus | Token::Mul | Token::Div | Token::Mod | Token::StringConcat => true,
        _ => false,
    }
}

/// What no query here has: block comments, since a media type such as `*/*` would end one, and endless chains.
fn refuse(text: &str, line: usize) -> Result<(), (Place, String)> {
    let tokens = Tokenizer::new(&GenericDialect {}, text).tokenize_with_location().map_err(|error| {
        let at = place(error.location).unwrap_or((line, 1));
        (at, error.message)
    })?;
    if let Some(last) = tokens.iter().filter(|token| chains(&token.token)).nth(MOST_CHAINED) {
        let message = format!("the query has more than {MOST_CHAINED} operators: write long lists as `x IN (...)`");
        return Err((place(last.span.start).unwrap_or((line, 1)), message));
    }
    let block = tokens.iter().find(|t| matches!(t.token, Token::Whitespace(Whitespace::MultiLineComment(_))));
    match block {
        Some(token) => Err((place(token.span.start).unwrap_or((line, 1)), "comments are written `--`".to_owned())),
        None => Ok(()),
    }
}

#[derive(Default)]
struct Names {
    ctes: Vec<(String, Place)>,
    relations: Vec<(String, Place)>,
}

impl Visitor for Names {
    type Break = ();

    fn pre_visit_query(&mut self, query: &SqlQuery) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let name = &cte.alias.name;
            self.ctes.push((name.value.to_lowercase(), place(name.span.start).unwrap_or((1, 1))));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        let at = place(relation.span().start).unwrap_or((1, 1));
        self.relations.push((relation.to_string().to_lowercase(), at));
        ControlFlow::Continue(())
    }
}
