//! Draws measured figures: each `docs/figures/NAME.csv` becomes `docs/pictures/NAME.svg`.
//!
//! A file begins with `# title:`, `# x: LABEL [log]`, and `# y: LABEL [log]` for all columns in one panel, or
//! `# panels: LABEL | LABEL ...` for a panel each. Then follow the column names and the numbers.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::report;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 70.0;
/// Space for column names in a single panel.
const NAMES: f64 = 190.0;
const MARGIN: f64 = 20.0;
const HEIGHT: f64 = 300.0;
const LOW: f64 = 130.0;
const COLOURS: [&str; 8] =
    ["#0b6e99", "#c1440e", "#4c8c2b", "#7a3e9d", "#b8860b", "#37474f", "#ad1457", "#00796b"];

#[derive(Clone, Debug, Default, PartialEq)]
struct Axis {
    label: String,
    log: bool,
}

impl Axis {
    fn read(text: &str) -> Self {
        let text = text.trim();
        text.strip_suffix(" log").map_or_else(
            || Self { label: text.to_owned(), log: false },
            |label| Self { label: label.to_owned(), log: true },
        )
    }

    fn place(&self, value: f64) -> f64 {
        if self.log { value.max(f64::MIN_POSITIVE).log10() } else { value }
    }

    /// Positions and labels of grid lines between two values.
    fn ticks(&self, low: f64, high: f64) -> Vec<(f64, String)> {
        let step = if self.log {
            ((high - low) / 8.0).ceil().max(1.0)
        } else {
            let rough = (high - low).max(f64::MIN_POSITIVE) / 5.0;
            let power = 10f64.powf(rough.log10().floor());
            let steps = [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power);
            steps.into_iter().find(|step| *step >= rough).unwrap_or(power)
        };
        let first = (low / step - 1e-9).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        (first..=last)
            .map(|at| at as f64 * step)
            .map(|at| (at, short(if self.log { 10f64.powf(at) } else { at })))
            .collect()
    }
}

/// A short form of a number: 1000000 is 1M.
fn short(value: f64) -> String {
    for (unit, name) in [(1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if value.abs() >= unit {
            return format!("{}{name}", (value / unit * 100.0).round() / 100.0);
        }
    }
    format!("{}", (value * 1000.0).round() / 1000.0)
}

#[derive(Debug, Default)]
struct Figure {
    title: String,
    x: Axis,
    y: Option<Axis>,
    panels: Vec<Axis>,
    names: Vec<String>,
    rows: Vec<Vec<Option<f64>>>,
}

impl Figure {
    fn read(text: &str) -> Result<Self> {
        let mut figure = Self::default();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if let Some(said) = line.strip_prefix('#') {
                let (name, value) = said.split_once(':').context("a line with # and no colon")?;
                match name.trim() {
                    "title" => value.trim().clone_into(&mut figure.title),
                    "x" => figure.x = Axis::read(value),
                    "y" => figure.y = Some(Axis::read(value)),
                    "panels" => figure.panels = value.split('|').map(Axis::read).collect(),
                    // The figures' source, for readers of the file.
                    _ => {}
                }
            } else if figure.names.is_empty() {
                figure.names = line.split(',').skip(1).map(str::to_owned).collect();
            } else {
                let cells: Vec<_> = line.split(',').map(|cell| cell.trim().parse().ok()).collect();
                ensure!(cells.len() == figure.names.len() + 1, "{line:?}: another number of cells");
                figure.rows.push(cells);
            }
        }
        let panels = figure.panels.len();
        ensure!(figure.y.is_some() || panels == figure.names.len(), "no y, or too few panels");
        Ok(figure)
    }

    fn points(&self, column: usize) -> Vec<(f64, f64)> {
        let cell = |row: &[Option<f64>], at: usize| row.get(at).copied().flatten();
        let points =
            self.rows.iter().filter_map(|row| Some((cell(row, 0)?, cell(row, column + 1)?)));
        points.collect()
    }

    fn draw(&self) -> String {
        let all: Vec<usize> = (0..self.names.len()).collect();
        let panels: Vec<(&Axis, Vec<usize>, f64)> = match &self.y {
            Some(y) => vec![(y, all, HEIGHT)],
            None => self.panels.iter().zip(all).map(|(axis, at)| (axis, vec![at], LOW)).collect(),
        };
        let mut body = String::new();
        let mut top = 56.0;
        for (y, columns, height) in &panels {
            self.panel(y, columns, top, *height, &mut body);
            top += height + 45.0;
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {top:.0}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text x=\"{LEFT}\" y=\"22\" font-size=\"15\" font-weight=\"bold\">{}</text>\n{body}</svg>\n",
            escaped(&self.title)
        )
    }

    fn right(&self) -> f64 {
        WIDTH - if self.y.is_some() { NAMES } else { MARGIN }
    }

    fn panel(&self, y: &Axis, columns: &[usize], top: f64, height: f64, out: &mut String) {
        let series: Vec<Vec<(f64, f64)>> = columns.iter().map(|at| self.points(*at)).collect();
        let xs = series.iter().flatten().map(|point| self.x.place(point.0));
        let ys = series.iter().flatten().map(|point| y.place(point.1));
        let (left, right) = bounds(xs);
        let (mut low, high) = bounds(ys);
        if !y.log {
            low = low.min(0.0);
        }
        let at_x = |x: f64| LEFT + (x - left) / (right - left) * (self.right() - LEFT);
        let at_y = |y: f64| top + height - (y - low) / (high - low) * height;
        for (place, text) in y.ticks(low, high) {
            let (at, end, label) = (at_y(place), self.right(), LEFT - 6.0);
            let _ = writeln!(
                out,
                "<path d=\"M{LEFT} {at:.1}H{end}\" stroke=\"#ddd\"/><text x=\"{label}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{text}</text>",
                at + 4.0
            );
        }
        for (place, text) in self.x.ticks(left, right) {
            let (at, below) = (at_x(place), top + height + 15.0);
            let _ = writeln!(
                out,
                "<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{text}</text>"
            );
        }
        let end = self.right();
        let _ = writeln!(
            out,
            "<text x=\"{LEFT}\" y=\"{}\" fill=\"#555\">{}</text><text x=\"{end}\" y=\"{}\" \
             text-anchor=\"end\" fill=\"#555\">{}</text>",
            top - 6.0,
            escaped(&y.label),
            top + height + 30.0,
            escaped(&self.x.label)
        );
        for (number, (points, column)) in series.iter().zip(columns).enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            let path: Vec<String> = points
                .iter()
                .map(|(x, v)| format!("{:.1},{:.1}", at_x(self.x.place(*x)), at_y(y.place(*v))))
                .collect();
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                path.join(" ")
            );
            if points.len() <= 20 {
                for point in path.iter().filter_map(|point| point.split_once(',')) {
                    let _ = writeln!(
                        out,
                        "<circle cx=\"{}\" cy=\"{}\" r=\"3\" fill=\"{colour}\"/>",
                        point.0, point.1
                    );
                }
            }
            if self.y.is_some() {
                let (x, line) = (self.right() + 12.0, top + 12.0 + 18.0 * number as f64);
                let name = self.names.get(*column).map_or("", String::as_str);
                let _ = writeln!(
                    out,
                    "<text x=\"{x}\" y=\"{line}\" fill=\"{colour}\">{}</text>",
                    escaped(name)
                );
            }
        }
    }
}

/// The minimum and the maximum, never equal.
fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    match low < high {
        true => (low, high),
        false if low.is_finite() => (low, low + 1.0),
        false => (0.0, 1.0),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

pub(crate) fn run(figures: &Path, pictures: &Path) -> Result<()> {
    let mut files: Vec<_> = std::fs::read_dir(figures)
        .with_context(|| figures.display().to_string())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "csv"))
        .collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(&file)?;
        let figure = Figure::read(&text).with_context(|| file.display().to_string())?;
        let name = file.with_extension("svg");
        let picture = pictures.join(name.file_name().context("a name")?);
        std::fs::write(&picture, figure.draw())?;
        report(&picture.display().to_string());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_a_line_for_each_column_and_ticks_that_people_read() {
        let text = "# title: a < b\n# x: size log\n# y: M/s\nsize,ours,theirs\n1e6,4,1\n1e7,2,\n";
        let figure = Figure::read(text).unwrap();
        assert_eq!(figure.points(0), [(1e6, 4.0), (1e7, 2.0)]);
        assert_eq!(figure.points(1), [(1e6, 1.0)], "an empty cell is no point");
        let drawn = figure.draw();
        assert_eq!(drawn.matches("<polyline").count(), 2);
        assert!(drawn.contains("a &lt; b") && drawn.contains(">10M<"), "{drawn}");
        assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        let ticks: Vec<String> =
            Axis::default().ticks(0.0, 4.2).into_iter().map(|tick| tick.1).collect();
        assert_eq!(ticks, ["0", "1", "2", "3", "4"]);
        assert!(Figure::read("# y: a\nx,y\n1,2,3\n").is_err());
    }
}
