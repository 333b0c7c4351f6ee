//! Songs and poems: short lines, in stanzas, with notes beside them.

use super::{keeps, page};

const SONG: [&str; 4] = [
    "Down by the harbour where the grey gulls cry\nI left my lantern and I watched it die\nThe tide came in and it took \
     my shoes\nNow I walk barefoot with the evening news",
    "Oh, carry me over, carry me slow\nThere's a boat on the water and it will not go\nThere's a light on the hill that \
     I used to know\nOh, carry me over, carry me slow",
    "My father was a baker and he baked at night\nHis hands were heavy and his bread was light\nHe sold a dozen and he \
     gave one free\nAnd the one he gave was the one for me",
    "Now the mill is silent and the road is wide\nThey built us a bridge to the other side\nBut nobody crosses and \
     nobody sings\nAnd the wind in the cables has no strings",
];

const TABS: &str = "<div class=links><a href=/a>Artists A to Z</a> <a href=/top>Top 100</a> <a href=/new>New songs</a></div>";
const MORE: &str = "<div class=related><h2>More songs by The Ferrymen</h2><ul><li><a href=/1>Sixteen Oars</a>\
    <li><a href=/2>Salt in My Coffee</a><li><a href=/3>The Ballad of the Pear Tree</a></ul></div>";

fn lines(stanza: &str) -> String {
    stanza.replace('\n', "<br>\n")
}

#[test]
fn lines_of_a_song_are_text() {
    let whole = SONG.map(lines).join("<br><br>");
    let stanzas = SONG.map(|stanza| format!("<p class=verse>{}</p>", lines(stanza))).concat();
    let boxes = SONG.map(|stanza| {
        format!("<div data-lyrics-container=true class=Lyrics__Container>{}</div>", lines(stanza))
    });
    let rows: String = SONG
        .iter()
        .flat_map(|s| s.lines())
        .map(|line| format!("<div class=lyric-line>{line}</div>"))
        .collect();
    for song in [
        format!("<div class=lyrics>{whole}</div>"),
        format!("<div class=lyricbox>{stanzas}</div>"),
        boxes.concat(),
        format!("<pre>{}</pre>", SONG.join("\n\n")),
        format!("<div id=lyrics>{rows}</div>"),
    ] {
        let body = format!(
            "{TABS}<div class=song><h1>Carry Me Over</h1><h2>The Ferrymen</h2>{song}</div>{MORE}"
        );
        keeps(
            &page("Carry Me Over Lyrics", &body),
            &SONG,
            &["Sixteen Oars", "Top 100", "Privacy policy"],
        );
    }
}

#[test]
fn lines_that_link_to_their_notes_are_text() {
    let linked = SONG.map(|stanza| {
        let lines: Vec<String> = stanza
            .lines()
            .enumerate()
            .map(|(at, line)| match at % 2 {
                0 => format!(
                    "<a href='/notes/{at}' class=referent data-id={at}><span>{line}</span></a>"
                ),
                _ => line.to_owned(),
            })
            .collect();
        lines.join("<br>")
    });
    let all = SONG.map(|stanza| {
        let lines: Vec<String> = stanza
            .lines()
            .map(|line| {
                format!("<a href='/12345/carry-me-over/note' class=ReferentFragment>{line}</a>")
            })
            .collect();
        lines.join("<br>")
    });
    for song in [linked, all] {
        let song = song
            .map(|stanza| {
                format!("<div class=Lyrics__Container data-lyrics-container=true>{stanza}</div>")
            })
            .concat();
        let body = format!(
            "{TABS}<main><h1>Carry Me Over</h1><div id=lyrics-root>{song}</div></main>{MORE}"
        );
        keeps(&page("Carry Me Over Lyrics", &body), &SONG, &["Sixteen Oars", "Top 100"]);
    }
}

#[test]
fn a_poem_beside_its_notes_is_text() {
    let stanzas = SONG.map(|stanza| {
        let lines: String =
            stanza.lines().map(|line| format!("<div class=line>{line}</div>")).collect();
        format!("<div class=stanza>{lines}</div>")
    });
    let notes = "<div class=annotations><div class=annotation><p>The lantern is that of the last keeper, says the author in \
                 a letter to her brother.</p></div><div class=annotation><p>Gulls are a sign of rain on this coast.</p>\
                 </div></div>";
    let body = format!(
        "<main><h1>The Bridge</h1><p class=author>By Marta Lind</p><div class=poem>{}</div>{notes}</main>{MORE}",
        stanzas.concat()
    );
    keeps(&page("The Bridge", &body), &SONG, &["Sixteen Oars"]);
}
