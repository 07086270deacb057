//! `queries/patterns.toml`: classes of error and status texts, and the paths to a skill id.
//!
//! In: the embedded file, and a user's file of the same form, whose entries come first. Out: a class for a text, a skill
//! for a request. Keeps no text.

use std::sync::LazyLock;

use regex::bytes::{RegexSet, RegexSetBuilder};
use serde::Deserialize;
use serde_json::Value;

use super::protocol::skill::{self, Skill, SkillPath};

const EMBEDDED: &str = include_str!("../../queries/patterns.toml");
/// Bytes of a text that are looked at: refusals come first, and a text may be a whole document.
const MAX_TEXT: usize = 4096;

/// Why a pattern file was not taken.
#[derive(Debug, thiserror::Error)]
pub enum PatternsError {
    /// It is not TOML, or not of this form.
    #[error("cannot read patterns: {0}")]
    Form(#[from] toml::de::Error),
    /// A pattern is no regular expression.
    #[error("cannot read patterns: {0}")]
    Pattern(#[from] regex::Error),
    /// A path to a skill id leads nowhere.
    #[error("cannot read patterns: skill path {0:?} must start with `params.` or `message.`")]
    Path(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    text: Vec<TextEntry>,
    #[serde(default)]
    skill: SkillEntry,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextEntry {
    class: String,
    patterns: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct SkillEntry {
    #[serde(default)]
    paths: Vec<String>,
}

/// The compiled tables.
#[derive(Debug, Clone)]
pub struct Patterns {
    set: RegexSet,
    /// Class of each pattern of the set.
    classes: Vec<String>,
    skill_paths: Vec<SkillPath>,
}

impl Patterns {
    /// The embedded tables.
    pub fn embedded() -> Self {
        static TABLES: LazyLock<Patterns> = LazyLock::new(|| {
            // A test reads the embedded file, so the tables are never empty.
            Patterns::parse(&[EMBEDDED]).unwrap_or_else(|_| Patterns {
                set: RegexSet::empty(),
                classes: Vec::new(),
                skill_paths: Vec::new(),
            })
        });
        TABLES.clone()
    }

    /// The embedded tables after those of a user's file.
    ///
    /// # Errors
    /// When the file is not of the form of `queries/patterns.toml`.
    pub fn extended_by(text: &str) -> Result<Self, PatternsError> {
        Self::parse(&[text, EMBEDDED])
    }

    /// The tables of a file in place of the embedded ones.
    ///
    /// # Errors
    /// When the file is not of the form of `queries/patterns.toml`.
    pub fn replaced_by(text: &str) -> Result<Self, PatternsError> {
        Self::parse(&[text])
    }

    fn parse(files: &[&str]) -> Result<Self, PatternsError> {
        let (mut patterns, mut classes, mut skill_paths) = (Vec::new(), Vec::new(), Vec::new());
        for text in files {
            let file: File = toml::from_str(text)?;
            for entry in file.text {
                classes.extend(std::iter::repeat_n(entry.class, entry.patterns.len()));
                patterns.extend(entry.patterns);
            }
            for path in file.skill.paths {
                skill_paths.push(SkillPath::parse(&path).ok_or(PatternsError::Path(path))?);
            }
        }
        // Word boundaries of Unicode would send every text that is not English down the slow path of the engine.
        let set =
            RegexSetBuilder::new(&patterns).case_insensitive(true).dot_matches_new_line(true).unicode(false).build()?;
        Ok(Self { set, classes, skill_paths })
    }

    /// Class of a text: that of the first pattern found in it, `other` when none is, `''` for no text.
    pub fn class(&self, text: &str) -> &str {
        let text = text.trim();
        if text.is_empty() {
            return "";
        }
        let head = text.as_bytes().get(..MAX_TEXT).unwrap_or(text.as_bytes());
        self.set.matches(head).iter().next().and_then(|first| self.classes.get(first)).map_or("other", String::as_str)
    }

    /// The skill that a call asks for.
    pub fn skill(&self, params: &Value, message: &Value) -> Skill {
        skill::find(&self.skill_paths, params, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_file_is_well_formed() {
        assert!(Patterns::replaced_by(EMBEDDED).is_ok());
    }

    fn check(class: &str, texts: &[&str]) {
        let patterns = Patterns::embedded();
        for text in texts {
            assert_eq!(patterns.class(text), class, "{text}");
        }
    }

    #[test]
    fn refused_skills_are_recognised() {
        check(
            "unknown-skill",
            &[
                "unknown skill",
                "Unknown skill: summarize-v2",
                "Skill 'summarize-v2' not found",
                "skill summarize-v2 is not supported",
                "skillId summarize-v2 does not exist",
                "No such skill: summarize-v2",
                "This agent does not support the requested skill",
                "this agent does not offer 'summarize-v2' skill",
                "no skill named summarize-v2",
                "UNKNOWN_SKILL",
                "skill not found",
                "The skill summarize-v2 has been removed",
                "summarize-v2 is not a valid skill",
            ],
        );
    }

    #[test]
    fn texts_that_mention_a_skill_without_refusing_it_are_no_refusal() {
        check(
            "other",
            &[
                "skill summarize-v2 failed: file not found",
                "Skill summarize-v2 completed",
                "running skill summarize-v2 on an unknown document",
                "I have no skill in cooking",
                "The skills of this team are not in doubt",
                "not my kind of task",
                "which language?",
                "working on it",
                "model backend unavailable",
            ],
        );
    }

    #[test]
    fn refused_modes_are_recognised() {
        check(
            "unsupported-mode",
            &[
                "unsupported mode",
                "Unsupported output mode text/html",
                "Incompatible content types",
                "media type image/png is not supported",
                "content type not supported",
                "output mode 'text/html' not supported",
                "This agent cannot produce text/markdown",
                "does not support the requested output modes",
                "none of the accepted output modes",
            ],
        );
    }

    #[test]
    fn a_message_to_an_ended_task_is_neither_bad_parameters_nor_a_refused_skill() {
        check(
            "terminal-task",
            &[
                "Task 30edcf55 is in terminal state: TASK_STATE_COMPLETED",
                "Task ff7d is in terminal state: TaskState.completed",
                "task 3261 is in terminal state 'TASK_STATE_COMPLETED' and cannot accept new messages",
                "Task cannot be canceled - current state: TaskState.completed",
                "The task has already been completed",
            ],
        );
    }

    #[test]
    fn the_other_classes_are_recognised() {
        check("not-found", &["Task not found", "Task client-made-task-id-1 not found", "Task not found: no-such-task"]);
        check("not-found", &["Task client-made-task-id-1 was specified but does not exist", "unknown task t-1"]);
        check("auth", &["401 Unauthorized", "Permission denied", "signature verification failed", "token expired"]);
        check("auth", &["Failed to get signing key: Unable to find key with kid: 656ea50", "invalid audience"]);
        check("policy-changed", &["authorization policy changed since submission", "caller is no longer authorized"]);
        check("policy-changed", &["access to this skill has been revoked"]);
        check(
            "timeout",
            &["request timed out", "[agent did not reply in time]", "httpx.ReadTimeout", "DEADLINE_EXCEEDED"],
        );
        check("transport", &["connection refused", "All connection attempts failed", "502 Bad Gateway", "DNS failure"]);
    }

    #[test]
    fn near_misses_of_the_other_classes_are_other() {
        check(
            "other",
            &[
                "file not found",
                "the author is known",
                "the timeout is set to 30 s",
                "please sign in",
                "the policy document is attached",
                "Task cannot be canceled",
            ],
        );
        check("", &["", "   "]);
    }

    #[test]
    fn a_users_patterns_come_first() {
        let patterns =
            Patterns::extended_by("[[text]]\nclass = 'unknown-skill'\npatterns = ['not my kind of task']\n").unwrap();
        assert_eq!(patterns.class("not my kind of task"), "unknown-skill");
        assert_eq!(patterns.class("task not found"), "not-found");
        assert!(Patterns::extended_by("[[text]]\nclass = 'x'\npatterns = ['(']").is_err());
        assert!(Patterns::extended_by("[skill]\npaths = ['somewhere.else']").is_err());
    }

    #[test]
    fn only_the_head_of_a_text_is_looked_at() {
        let far = format!("{} unknown skill", "ä".repeat(2048));
        check("other", &[&far]);
    }
}
