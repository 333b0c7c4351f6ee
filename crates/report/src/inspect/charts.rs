//! Charts as SVG: columns for a distribution, bars for a ranking.

use maud::{Markup, html};

use crate::text::number;

/// Columns of a distribution, with a threshold marked.
pub(super) fn columns(
    title: &str,
    names: &[String],
    counts: &[u64],
    threshold: Option<(f64, String)>,
) -> Markup {
    const WIDTH: f64 = 420.0;
    const HEIGHT: f64 = 120.0;
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let step = WIDTH / counts.len().max(1) as f64;
    // Label at most about eight columns.
    let every = (names.len() / 8).max(1);
    html! {
        figure.chart {
            figcaption { (title) }
            svg viewBox={ "0 -14 " (WIDTH) " " (HEIGHT + 34.0) } role="img" aria-label=(title) {
                @for (at, (count, name)) in counts.iter().zip(names).enumerate() {
                    @let height = if *count == 0 { 0.0 } else { (HEIGHT * *count as f64 / most).max(2.0) };
                    @let x = step * at as f64;
                    rect class="column" x=(fixed(x + step * 0.1)) y=(fixed(HEIGHT - height))
                        width=(fixed(step * 0.8)) height=(fixed(height)) {
                        title { (name) ": " (number(*count)) }
                    }
                    @if at % every == 0 {
                        text class="label" x=(fixed(x + step / 2.0)) y=(fixed(HEIGHT + 15.0)) text-anchor="middle" { (name) }
                    }
                }
                line class="axis" x1="0" y1=(fixed(HEIGHT)) x2=(fixed(WIDTH)) y2=(fixed(HEIGHT)) {}
                @if let Some((at, label)) = threshold {
                    @let x = fixed(step * at);
                    line class="threshold" x1=(x) y1="-2" x2=(x) y2=(fixed(HEIGHT)) {}
                    text class="threshold" x=(x) y="-5" text-anchor="middle" { (label) }
                }
            }
        }
    }
}

pub(super) fn bars(title: &str, rows: &[(String, Option<String>, u64, String)]) -> Markup {
    let most = rows.iter().map(|row| row.2).max().unwrap_or(0).max(1);
    html! {
        figure.chart {
            figcaption { (title) }
            table.bars {
                @for (name, link, value, shown) in rows {
                    tr {
                        th scope="row" {
                            @match link { Some(link) => a href=(link) { (name) }, None => (name) }
                        }
                        td.bar { meter min="0" max=(most) value=(value) { (shown) } }
                        td.value { (shown) }
                    }
                }
            }
        }
    }
}

/// One decimal, the same on every platform.
fn fixed(value: f64) -> String {
    format!("{value:.1}")
}
