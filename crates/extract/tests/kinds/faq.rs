//! Questions and answers of a publisher: the answers are shown when somebody opens them.

use super::{PROSE, keeps, page};

const QUESTIONS: [&str; 6] = [
    "When does the ferry leave?",
    "Can I bring a bicycle?",
    "How do I get a place in the choir?",
    "Where is the nearest bakery?",
    "Who pays for the bridge?",
    "Is the pond safe for children?",
];
const ANSWERS: [&str; 6] = [
    "At seven in the morning from the old pier. In winter it waits for the ice breaker.",
    "Yes. It costs nothing, but tell the crew before you go on board.",
    "Come in the first week of a month, on a Thursday, to the room above the library. You need not know any piece.",
    "Beside the mill, up the hill. It opens at five, and on Saturdays the bread is gone by nine.",
    "The council does, with money that it saved since the ferryman retired.",
    "It is shallow at its edge and has a fence on the side of the road. Do not leave small children alone there.",
];

/// Writes a question and its answer.
type Entry = dyn Fn(usize, &str, &str) -> String;

fn entries(entry: impl Fn(usize, &str, &str) -> String) -> String {
    let pairs = QUESTIONS.iter().zip(ANSWERS).enumerate();
    pairs.map(|(at, (question, answer))| entry(at, question, answer)).collect()
}

#[track_caller]
fn keeps_all(body: &str) {
    let all: Vec<&str> = QUESTIONS.iter().zip(ANSWERS).flat_map(|(q, a)| [*q, a]).collect();
    keeps(&page("Questions and answers", body), &all, &["Privacy policy", "Contact"]);
}

#[test]
fn questions_that_open_by_details_are_text() {
    for (open, close) in [("<p>", "</p>"), ("", ""), ("<div class=answer>", "</div>")] {
        let all =
            entries(|_, q, a| format!("<details><summary>{q}</summary>{open}{a}{close}</details>"));
        keeps_all(&format!("<main><h1>Questions and answers</h1>{all}</main>"));
        let all = entries(|_, q, a| {
            format!(
                "<details class=faq-item><summary><h3>{q}</h3></summary>{open}{a}{close}</details>"
            )
        });
        keeps_all(&format!(
            "<div class=content><h1>Questions and answers</h1><div class=faq>{all}</div></div>"
        ));
    }
}

#[test]
fn answers_that_are_hidden_until_opened_are_text() {
    for hides in ["style='display:none'", "aria-hidden=true", "hidden", "class=collapse"] {
        let all = entries(|at, q, a| {
            format!(
                "<div class=accordion-item><h2 class=accordion-header><button aria-expanded=false aria-controls=a{at}>{q}\
                 </button></h2><div id=a{at} role=region {hides}><div class=accordion-body>{a}</div></div></div>"
            )
        });
        keeps_all(&format!(
            "<main><h1>Questions and answers</h1><div class=accordion>{all}</div></main>"
        ));
    }
}

#[test]
fn hidden_answers_below_a_shown_introduction_are_text() {
    let all = entries(|at, q, a| {
        format!(
            "<h3><button class=toggle aria-expanded=false aria-controls=panel{at}>{q}</button></h3>\
             <div class=panel id=panel{at} aria-hidden=true><p>{a}</p></div>"
        )
    });
    let shown: String = PROSE.iter().map(|text| format!("<p>{text}</p>")).collect();
    let body = format!("<main><h1>Visiting the village</h1>{shown}<h2>Questions</h2>{all}</main>");
    let questions = QUESTIONS.iter().zip(ANSWERS).flat_map(|(q, a)| [*q, a]);
    let wanted: Vec<&str> = PROSE.iter().copied().chain(questions).collect();
    keeps(&page("Visiting the village", &body), &wanted, &["Privacy policy"]);
}

#[test]
fn questions_in_buttons_without_a_heading_are_text() {
    for button in [
        "<button class=faq-question type=button aria-expanded=false aria-controls=",
        "<button class=accordion-button data-bs-toggle=collapse aria-expanded=true aria-controls=",
    ] {
        let all = entries(|at, q, a| {
            format!(
                "<div class=faq-item>{button}a{at}>{q}</button><div id=a{at} class=faq-answer><p>{a}</p></div></div>"
            )
        });
        keeps_all(&format!("<main><h1>Questions and answers</h1>{all}</main>"));
    }
}

#[test]
fn lists_of_definitions_and_headings_of_questions_are_text() {
    let all = entries(|_, q, a| format!("<dt>{q}</dt><dd>{a}</dd>"));
    keeps_all(&format!("<main><h1>Questions and answers</h1><dl class=faq-list>{all}</dl></main>"));
    let all =
        entries(|_, q, a| format!("<h3 class=faq-question>{q}</h3><p class=faq-answer>{a}</p>"));
    keeps_all(&format!("<div class=content><h1>Questions and answers</h1>{all}</div>"));
    let all = entries(|_, q, a| {
        format!(
            "<div itemscope itemprop=mainEntity itemtype='https://schema.org/Question'><h3 itemprop=name>{q}</h3>\
             <div itemscope itemprop=acceptedAnswer itemtype='https://schema.org/Answer'><div itemprop=text>{a}</div>\
             </div></div>"
        )
    });
    keeps_all(&format!(
        "<div itemscope itemtype='https://schema.org/FAQPage'><h1>Questions and answers</h1>{all}</div>"
    ));
}

#[test]
fn buttons_that_act_and_hidden_dialogs_are_no_text() {
    let all = entries(|_, q, a| format!("<details><summary>{q}</summary><p>{a}</p></details>"));
    let body = format!(
        "<main><h1>Questions and answers</h1><button aria-expanded=false aria-controls=m>Open menu</button>\
         <button>Print this page</button>{all}<div id=m hidden><p>{}</p></div><div class=modal aria-hidden=true>\
         <p>{}</p></div></main>",
        PROSE[5], PROSE[6]
    );
    let all: Vec<&str> = QUESTIONS.iter().zip(ANSWERS).flat_map(|(q, a)| [*q, a]).collect();
    let html = page("Questions and answers", &body);
    keeps(
        &html,
        &all,
        &["Print this page", "Open menu", "The observatory opens", "Clay that was dug"],
    );
}

#[test]
fn answers_that_open_by_other_elements_than_buttons_are_text() {
    let kinds: [&Entry; 6] = [
        &|at, q, a| {
            format!(
                "<a href='#t{at}' aria-expanded=false><h3>{q}</h3></a><div id=t{at} style='display:none'><p>{a}</p></div>"
            )
        },
        &|at, q, a| {
            format!(
                "<div role=button tabindex=0 aria-controls=p{at}>{q}</div><div id=p{at} aria-hidden=true style='display:none'>{a}</div>"
            )
        },
        &|_, q, a| {
            format!("<dl><dt><button aria-expanded=false>{q}</button></dt><dd hidden>{a}</dd></dl>")
        },
        &|at, q, a| {
            format!(
                "<div class=panel><h4><a data-toggle=collapse href='#col{at}'>{q}</a></h4><div id=col{at} hidden>{a}</div></div>"
            )
        },
        &|at, q, a| {
            format!(
                "<div class=item><div role=button aria-controls=e{at}><a class=title>{q}</a></div><div id=e{at} hidden><p>{a}</p></div></div>"
            )
        },
        &|_, q, a| {
            format!(
                "<div class=x-accordion-item><div role=button><a class=x-accordion-title>{q}</a></div><div class=x-content hidden><p>{a}</p></div></div>"
            )
        },
    ];
    for kind in kinds {
        keeps_all(&format!("<main><h1>Questions and answers</h1>{}</main>", entries(kind)));
    }
}
