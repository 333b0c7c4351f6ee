//! Advice as a file of rules.

use hapax_data::DroppedUrls;

use super::candidates::is_about_value;
use super::outcome::{Advice, AdvisedRule, RefusedRule};

/// Refused rules that are explained.
const REFUSED: usize = 20;
/// Longest line of a comment, in characters.
const MAX_COMMENT: usize = 300;

/// Returns a comment of one line. Text from the web cannot end the line, nor control a terminal.
fn comment(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    format!("# {}\n", plain.take(MAX_COMMENT).collect::<String>())
}

/// Returns what a learnt rule did.
pub(super) fn learnt(dropped: &DroppedUrls) -> String {
    let DroppedUrls { rule, urls, detail, .. } = dropped;
    if detail.is_empty() {
        format!("{rule}: {urls} addresses")
    } else {
        format!("{rule}: {detail}")
    }
}

pub(super) fn rules_file(advice: &Advice) -> String {
    let mut out = comment(
        "Rules for `crawl --rules FILE`. Each was applied to this crawl and loses no unique page.",
    );
    if let Some(why) = &advice.unverified {
        out += &comment(&format!("No rule is advised: {why}."));
    } else {
        let (before, after) = advice.requests;
        out += &comment(&format!("Requests of this crawl: {before}; by these rules: {after}."));
    }
    for AdvisedRule { rule, cause, pages, bytes, example: (url, of) } in &advice.rules {
        out += "#\n";
        out += &comment(&format!("{cause}: saves {pages} pages ({bytes} bytes), loses 0"));
        out += &comment(&format!("such as {url} = {of}"));
        if is_about_value(rule, cause) {
            out += "# keeps addresses with another value: the one without the parameter may not exist\n";
        }
        out += rule;
        out.push('\n');
    }
    let unsafe_rules: Vec<&RefusedRule> =
        advice.refused.iter().filter(|refused| !refused.why.contains("save no request")).collect();
    if !unsafe_rules.is_empty() {
        out += "#\n";
        out += &comment("Not advised:");
    }
    for RefusedRule { rule, duplicates, why, .. } in unsafe_rules.into_iter().take(REFUSED) {
        out += &comment(&format!("  {rule} ({duplicates} duplicates): {why}"));
    }
    if !advice.learnt.is_empty() {
        out += "#\n";
        out += &comment(
            "The crawl itself has learnt, was given, or always applies (it verifies learnt rules by samples):",
        );
    }
    for learnt in &advice.learnt {
        out += &comment(&format!("  {learnt}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_file_is_a_rule_or_a_comment() {
        let example = ("http://a.example/\u{85}x".to_owned(), "y\nskip */".to_owned());
        let advice = Advice {
            rules: vec![AdvisedRule {
                rule: "skip a.example/print/".into(),
                cause: "print".into(),
                pages: 5,
                bytes: 9,
                example: example.clone(),
            }],
            refused: vec![RefusedRule {
                rule: "skip a.example/x/".into(),
                cause: "other\nskip */".into(),
                duplicates: 7,
                why: "it would lose 1 unique page\nskip */".into(),
                example,
            }],
            learnt: vec!["learnt\nskip */".into()],
            unverified: None,
            requests: (10, 5),
        };
        let file = rules_file(&advice);
        let rules = hapax_url::GivenRules::parse(&file).unwrap();
        assert_eq!(rules.lines(), ["skip a.example/print/"], "{file}");
        assert!(file.contains("# print: saves 5 pages (9 bytes), loses 0\n"), "{file}");
        assert!(file.contains("Requests of this crawl: 10; by these rules: 5."), "{file}");
    }
}
