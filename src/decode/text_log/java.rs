//! Lines of Java's loggers (Logback, Log4j, Quarkus, Spring Boot), of the A2A SDK's classes.
//!
//! Their patterns are the program's own: a level stands before or behind the class, in brackets or not, with a thread
//! somewhere. Names of packages may be shortened, so that a class is known by its name alone where its package is not
//! spelled out.
//!
//! Source: default patterns of Logback 1.5 (`%d{HH:mm:ss.SSS} [%thread] %-5level %logger{36} -- %msg%n`), Quarkus 3
//! (`%d{yyyy-MM-dd HH:mm:ss,SSS} %-5p [%c{3.}] (%t) %s%e%n`) and Spring Boot 3.

use super::Line;
use crate::decode::python_log::{Stamp, split_time};

const LEVELS: [&str; 7] = ["TRACE", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "SEVERE"];

/// Packages of the SDK, since 1.0 and before.
const PACKAGES: [&str; 2] = ["org.a2aproject.sdk.", "io.a2a."];

/// Classes whose sentences are known.
const CLASSES: [&str; 2] = ["BasePushNotificationSender", "DefaultRequestHandler"];

/// Words that a pattern puts before its logger.
const MOST_WORDS: usize = 12;

/// Reads a line.
pub(super) fn read(line: &str) -> Option<Line> {
    let Stamp { at, is_zoned, is_bad: has_bad_time, rest } = split_time(line);
    let (mut level, mut rest) = (None, rest);
    for _ in 0..MOST_WORDS {
        let text = rest.trim_start_matches([' ', '[', '(', '-', ':', '|']);
        let end = text.find([' ', ']', ')'])?;
        let (word, after) = text.split_at(end);
        rest = after.trim_start_matches([']', ')']);
        if LEVELS.contains(&word) {
            level = Some(word);
        } else if is_logger(word) {
            return Some(Line {
                at,
                is_zoned,
                has_bad_time,
                level: level?.to_owned(),
                logger: word.to_owned(),
                message: message(rest).to_owned(),
                attributes: Vec::new(),
            });
        }
    }
    None
}

fn is_logger(word: &str) -> bool {
    let is_path = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'$'));
    let class = word.rsplit('.').next().unwrap_or_default();
    is_path
        && (PACKAGES.iter().any(|package| word.starts_with(package)) || word.contains('.') && CLASSES.contains(&class))
}

/// What is behind the logger: a thread in parentheses and a separator belong to the pattern.
fn message(rest: &str) -> &str {
    let mut rest = rest.trim_start();
    if let Some((_, after)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
        rest = after.trim_start();
    }
    ["-- ", "- ", ": "].iter().find_map(|separator| rest.strip_prefix(separator)).unwrap_or(rest).trim()
}
