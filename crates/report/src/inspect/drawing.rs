//! A cluster as a picture: the kept page, and its members by the canonical address that they declare.

use hapax_data::{CanonicalState, Relation};
use maud::{Markup, html};

use crate::text::{escape, number};

/// Members in one line of the picture: it fits on a phone.
const PER_LINE: usize = 10;
/// Distances between members and between lines, in pixels.
const STEP: usize = 28;
const LINE: usize = 30;
/// The first member's place.
const FIRST: usize = 64;

/// The states in the order of the legend.
const STATES: [(CanonicalState, &str); 5] = [
    (CanonicalState::Agree, "it declares the kept page as canonical"),
    (CanonicalState::None, "it declares no canonical address"),
    (CanonicalState::Discarded, "it declares a discarded page or a redirect"),
    (CanonicalState::Missing, "it declares an address that was not fetched or is gone"),
    (
        CanonicalState::Conflict,
        "it declares itself although it was discarded, or another kept page",
    ),
];
/// The letters of relations.
const RELATIONS: [(Relation, &str, &str); 3] = [
    (Relation::Redirect, "r", "a redirect"),
    (Relation::Translation, "t", "a version in another language"),
    (Relation::Pagination, "p", "another page of a series"),
];

/// A member of a cluster.
#[derive(Debug)]
pub(super) struct Member {
    /// The link to its page.
    pub(super) link: Option<String>,
    pub(super) url: String,
    pub(super) canonical: CanonicalState,
    pub(super) relation: Relation,
}

/// Draws a cluster of `total` members, of which `members` are shown.
pub(super) fn drawing(kept: (&str, CanonicalState), members: &[Member], total: usize) -> Markup {
    let lines = members.len().div_ceil(PER_LINE).max(1);
    let (width, height) = (FIRST + PER_LINE * STEP, lines * LINE);
    let last_line = (lines - 1) * LINE + LINE / 2;
    let label =
        format!("The kept page and {} of its {} members", members.len(), number(total as u64));
    html! {
        svg.cluster width=(width) height=(height) viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(label) {
            line class="axis" x1="18" y1="15" x2="44" y2="15" {}
            line class="axis" x1="44" y1="15" x2="44" y2=(last_line) {}
            @for (at, line) in members.chunks(PER_LINE).enumerate() {
                @let y = at * LINE + LINE / 2;
                line class="axis" x1="44" y1=(y) x2=(FIRST + (line.len() - 1) * STEP) y2=(y) {}
            }
            g class=(class(kept.1)) {
                circle class="kept" cx="18" cy="15" r="13" {}
                (shape(kept.1, 18, 15))
                title { "kept: " (escape(kept.0)) ", " (kept.1.as_str()) }
            }
            @for (at, member) in members.iter().enumerate() {
                @let place = (FIRST + at % PER_LINE * STEP, at / PER_LINE * LINE + LINE / 2);
                @match &member.link {
                    Some(link) => a href=(link) { (glyph(member, place)) },
                    None => (glyph(member, place)),
                }
            }
        }
    }
}

fn glyph(member: &Member, (x, y): (usize, usize)) -> Markup {
    let letter = RELATIONS.iter().find(|(relation, ..)| *relation == member.relation);
    html! {
        g class=(class(member.canonical)) {
            (shape(member.canonical, x, y))
            @if let Some((_, letter, _)) = letter { text x=(x) y=(y + 3) text-anchor="middle" { (letter) } }
            title { (member.canonical.as_str()) ", " (member.relation.as_str()) ": " (escape(&member.url)) }
        }
    }
}

fn class(state: CanonicalState) -> String {
    format!("state {}", state.as_str())
}

/// Each state has a shape, so that the picture can be read without colours.
fn shape(state: CanonicalState, x: usize, y: usize) -> Markup {
    let points = |list: &[(usize, usize)]| {
        let points: Vec<String> = list.iter().map(|(x, y)| format!("{x},{y}")).collect();
        points.join(" ")
    };
    html! {
        @match state {
            CanonicalState::None | CanonicalState::Agree => circle cx=(x) cy=(y) r="8" {},
            CanonicalState::Discarded => polygon points=(points(&[(x, y - 9), (x + 10, y + 8), (x - 10, y + 8)])) {},
            CanonicalState::Missing => rect x=(x - 8) y=(y - 8) width="16" height="16" {},
            CanonicalState::Conflict => polygon points=(points(&[(x, y - 10), (x + 10, y), (x, y + 10), (x - 10, y)])) {},
        }
    }
}

/// A state as a word with its shape.
pub(super) fn state_tag(state: CanonicalState) -> Markup {
    html! { span.canonical title=(state.describe()) { (icon(state)) " " (state.as_str()) } }
}

fn icon(state: CanonicalState) -> Markup {
    html! {
        svg.icon width="14" height="14" viewBox="0 0 24 24" aria-hidden="true" {
            g class=(class(state)) { (shape(state, 12, 12)) }
        }
    }
}

/// Explains shapes and letters.
pub(super) fn drawing_legend() -> Markup {
    html! {
        details.legend {
            summary { "Legend: canonical addresses" }
            dl.facts {
                @for (state, meaning) in STATES { dt { (icon(state)) " " (state.as_str()) } dd { (meaning) } }
                @for (relation, letter, meaning) in RELATIONS { dt { (letter) ": " (relation.as_str()) } dd { (meaning) } }
                dt { "ring" } dd { "the kept page" }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_has_another_shape_and_an_explanation() {
        let shapes: std::collections::BTreeSet<String> =
            STATES.iter().map(|(state, _)| icon(*state).into_string()).collect();
        assert_eq!(shapes.len(), STATES.len());
        let legend = drawing_legend().into_string();
        assert!(STATES.iter().all(|(state, meaning)| legend.contains(state.as_str()) && legend.contains(meaning)));
    }

    #[test]
    fn a_cluster_is_drawn_with_all_members_inside_the_picture_and_hostile_urls_are_escaped() {
        let member = |at: usize| Member {
            link: Some(format!("/page/{at}")),
            url: "http://a.example/<script>\u{202e}".to_owned(),
            canonical: STATES.get(at % 5).unwrap().0,
            relation: RELATIONS.get(at % 3).unwrap().0,
        };
        let members: Vec<Member> = (0..23).map(member).collect();
        let svg =
            drawing(("http://a.example/", CanonicalState::None), &members, 1000).into_string();
        assert_eq!(svg.matches("<a href=").count(), 23);
        assert!(svg.contains("23 of its 1,000 members") && svg.contains("height=\"90\""), "{svg}");
        assert!(!svg.contains("<script>") && !svg.contains('\u{202e}'), "{svg}");
        let empty = drawing(("x", CanonicalState::Agree), &[], 0).into_string();
        assert!(empty.contains("height=\"30\""), "{empty}");
    }
}
