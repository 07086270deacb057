//! Urls of webhooks, whose paths may be their only secret.
//!
//! In: a url without user, query and fragment. Out: the same with a hash in place of each part of the path that looks like a
//! token, so that equal urls stay equal. Chat services give out such urls: who knows one may post there.

use sha2::{Digest, Sha256};

/// Shortest part of mixed case and digits that is taken for a token.
const SHORTEST_MIXED: usize = 16;
/// Letters and digits without a break that are taken for a token, whatever their case.
const LONGEST_RUN: usize = 24;
/// Mark of a part that was replaced.
const MARK: char = '~';

/// The url as it may be kept. Applied to what it gave, it changes nothing.
pub(crate) fn hook_url(url: &str) -> String {
    let start = url.find("//").map_or(0, |at| at + 2);
    let Some(path) = url.get(start..).and_then(|rest| rest.find('/')).map(|at| start + at) else {
        return url.to_owned();
    };
    let (place, path) = url.split_at(path);
    let parts: Vec<String> =
        path.split('/').map(|part| if is_token(part) { hashed(part) } else { part.to_owned() }).collect();
    format!("{place}{}", parts.join("/"))
}

fn hashed(part: &str) -> String {
    format!("{MARK}{}", hex::encode(&Sha256::digest(part.as_bytes())[..4]))
}

/// Whether a part of a path looks made by chance. UUIDs are the ids of tasks and tenants, and stay.
fn is_token(part: &str) -> bool {
    if part.starts_with(MARK) || is_uuid(part) {
        return false;
    }
    let has = |is: fn(&char) -> bool| part.chars().any(|c| is(&c));
    let has_digit = has(char::is_ascii_digit);
    let is_mixed = has_digit && has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase);
    let runs = part.split(|c: char| !c.is_ascii_alphanumeric());
    let is_run = |run: &str| run.len() >= LONGEST_RUN && run.bytes().any(|byte| byte.is_ascii_alphabetic());
    (is_mixed && part.len() >= SHORTEST_MIXED) || (has_digit && runs.into_iter().any(is_run))
}

fn is_uuid(part: &str) -> bool {
    let groups: Vec<&str> = part.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_in_the_path_are_hashed_and_equal_urls_stay_equal() {
        // The forms that the services document, with made-up tokens.
        for (url, secret) in [
            ("https://hooks.slack.example/services/T00000000/B00000000/XoXbSECRETslackhook99aab", "XoXbSECRET"),
            ("https://discord.example/api/webhooks/1080000000000000000/aB3_dE-fG7hIjKlMnOpQrStUvWxYz0123", "aB3_dE"),
            ("https://teams.example/webhookb2/IncomingWebhook/0123456789abcdef0123456789abcdef", "0123456789abcdef"),
        ] {
            let kept = hook_url(url);
            assert!(!kept.contains(secret), "{kept}");
            assert!(kept.starts_with(&url[..url.find("example/").unwrap() + 8]), "{kept}");
            assert_eq!((hook_url(url), hook_url(&kept)), (kept.clone(), kept));
        }
        assert_ne!(hook_url("https://h/AAAAAAAAaaaaaaaa1"), hook_url("https://h/AAAAAAAAaaaaaaaa2"));
    }

    #[test]
    fn what_people_wrote_stays() {
        for url in [
            "http://127.0.0.1:41009/hooks/a2a",
            "https://h/tenants/f3afd69f-5c1f-4122-a603-ecf3d36df14a/push-notifications-2026",
            "https://h/summaries-webhook-of-production-eu-west-1/v2/callback",
            "//h:1/T00000000/B00000000",
            "https://host-Name0123456789ABCDEF.example:8443",
            "",
            "not a url",
        ] {
            assert_eq!(hook_url(url), url);
        }
    }
}
