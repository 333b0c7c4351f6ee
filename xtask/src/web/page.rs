//! Responses of the hosts of the synthetic web.

use std::fmt::Write;

use super::{
    Role, STORIES, Web, has_print, has_redirect, has_session, session_path, story_path, text,
};

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: &'static str,
    pub(super) location: Option<String>,
    pub(super) kind: &'static str,
    pub(super) body: String,
}

impl Answer {
    fn new(status: &'static str, kind: &'static str, body: String) -> Self {
        Self { status, location: None, kind, body }
    }

    pub(super) fn unavailable() -> Self {
        Self::new("503 Service Unavailable", "text/plain", "later".to_owned())
    }
}

impl Web {
    pub(super) fn page(&self, host: u64, path: &str) -> Answer {
        let missing =
            || Answer::new("404 Not Found", "text/plain", "There is no such page.".to_owned());
        if path == "/robots.txt" {
            return Answer::new(
                "200 OK",
                "text/plain",
                "User-agent: *\nDisallow: /private/\n".to_owned(),
            );
        }
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        let story = |number: &str| number.parse().ok().filter(|story| *story < STORIES);
        match segments[..] {
            [""] => self.story(host, 0, query),
            ["story", number] => story(number).map_or_else(missing, |n| self.story(host, n, query)),
            ["print", number] => story(number)
                .filter(|story| has_print(*story))
                .map_or_else(missing, |story| Self::print(host, story)),
            ["old", number] => story(number).map_or_else(missing, |story| Answer {
                location: Some(self.url(host, &story_path(story))),
                ..Answer::new("301 Moved Permanently", "text/plain", String::new())
            }),
            ["calendar", year, month] if Self::traps(host) => calendar(year, month),
            ["more", ..] if Self::traps(host) => {
                let body = "<title>More</title><p>There is more of it to be had if you go on.</p>\
                     <a href=\"more/\">more</a>";
                Answer::new("200 OK", "text/html", body.to_owned())
            }
            _ => missing(),
        }
    }

    fn story(&self, host: u64, story: u64, query: &str) -> Answer {
        let role = Self::role(host);
        let chinese = role == Role::Chinese;
        let number = Self::text(host, story);
        let title = text::title(number, chinese);
        let mut body =
            format!("<!DOCTYPE html><html><head><meta charset=utf-8><title>{title}</title>");
        if matches!(role, Role::News | Role::Chinese) && query.is_empty() {
            let url = self.url(host, &story_path(story));
            let _ = write!(body, "<link rel=canonical href=\"{url}\">");
        }
        let _ = write!(
            body,
            "</head><body><div class=nav><a href=/>Home</a> <a href=/story/1>News</a> \
             <a href=/private/{story}>Desk</a></div><div class=ad>Offer {} of host {host}: buy now!</div>\
             <main><h1>{title}</h1>",
            number % 13
        );
        let edit = (role == Role::Edited).then_some(story);
        for paragraph in text::article(number, chinese, edit) {
            let _ = write!(body, "<p>{paragraph}</p>");
        }
        body.push_str("</main><ul class=related>");
        self.links(host, story, &mut body);
        let _ =
            write!(body, "</ul><footer>Host {host}. All rights reserved.</footer></body></html>");
        Answer::new("200 OK", "text/html", body)
    }

    /// Writes a page's links. Each story is linked from a story before it.
    fn links(&self, host: u64, story: u64, body: &mut String) {
        for next in [story * 2 + 1, story * 2 + 2].into_iter().filter(|next| *next < STORIES) {
            let path = if has_redirect(next) { format!("/old/{next}") } else { story_path(next) };
            let _ = write!(body, "<li><a href=\"{path}?utm_source=host{host}\">Story {next}</a>");
        }
        if has_print(story) {
            let _ = write!(body, "<li><a href=/print/{story}>Print</a>");
        }
        if has_session(story) {
            let _ = write!(body, "<li><a href=\"{}\">Again</a>", session_path(story));
        }
        let other = self.url((host * 7 + story) % self.hosts, "/");
        let _ = write!(body, "<li><a href=\"{other}\">Elsewhere</a>");
        if Self::traps(host) {
            body.push_str("<li><a href=/calendar/2026/11>Calendar</a> <a href=/more/>More</a>");
        }
    }

    fn print(host: u64, story: u64) -> Answer {
        let role = Self::role(host);
        let chinese = role == Role::Chinese;
        let number = Self::text(host, story);
        let title = text::title(number, chinese);
        let mut body = format!("<meta charset=utf-8><title>{title}</title><h1>{title}</h1>");
        for paragraph in text::article(number, chinese, (role == Role::Edited).then_some(story)) {
            let _ = write!(body, "<p>{paragraph}</p>");
        }
        let _ = write!(body, "<hr><p>Printed from host {host}.");
        Answer::new("200 OK", "text/html", body)
    }
}

/// A month, with links to the previous and the next, without end.
fn calendar(year: &str, month: &str) -> Answer {
    let (Ok(year), Ok(month)) = (year.parse::<u32>(), month.parse::<u32>()) else {
        return Answer::unavailable();
    };
    let months = year.saturating_mul(12).saturating_add(month).saturating_sub(1);
    let mut body = format!("<title>{month}/{year}</title><table>");
    for day in 1..=28 {
        let _ = write!(body, "<td>{day}</td>");
    }
    for next in [months.saturating_sub(1), months.saturating_add(1)] {
        let (year, month) = (next / 12, next % 12 + 1);
        let _ = write!(body, "<a href=/calendar/{year}/{month:02}>{month:02}/{year}</a>");
    }
    Answer::new("200 OK", "text/html", body)
}
