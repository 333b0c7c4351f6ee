//! Declarations of styles that hide an element.

use memchr::{memchr_iter, memmem};

/// Parts of declarations that leave nothing to see, to skip others.
const OUT_OF_SIGHT: [&[u8]; 3] = [b"rect(", b"inset(", b"height"];
/// Parts of declarations that leave nothing to read, to skip others.
const UNREADABLE: [&[u8]; 2] = [b"font-size", b"color"];
/// Greatest size of letters in pixels that nobody can read.
const UNREADABLE_SIZE: f32 = 1.0;
/// Offset in pixels beyond which an element is off the screen.
const OFF_SCREEN: f32 = -999.0;

/// The effect of a rule on the elements that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Hides,
    /// Hides, but leaves the space empty. Pages do this to custom elements until a script has drawn them.
    Empties,
    Shows,
}

/// Returns the effect of declarations; `None` if they neither hide nor show.
pub(super) fn effect(declarations: &str) -> Option<Effect> {
    let mut result = None;
    for (name, value) in declared(declarations) {
        match name.as_str() {
            "display" if value.starts_with("none") => result = Some(Effect::Hides),
            "display" => result = Some(Effect::Shows),
            "visibility" if value.starts_with("hidden") || value.starts_with("collapse") => {
                result = result.filter(|effect| *effect == Effect::Hides).or(Some(Effect::Empties));
            }
            "visibility" if value.starts_with("visible") => result = Some(Effect::Shows),
            _ => {}
        }
    }
    if is_out_of_sight(declarations) { Some(Effect::Hides) } else { result }
}

/// Returns names and values in lower case.
fn declared(declarations: &str) -> impl Iterator<Item = (String, String)> + '_ {
    declarations.split(';').filter_map(|declaration| {
        let (name, value) = declaration.split_once(':')?;
        Some((name.trim().to_ascii_lowercase(), value.trim().to_ascii_lowercase()))
    })
}

/// Returns whether there is a negative number of at least three digits, which may move an element off the screen.
pub(super) fn has_far_offset(declarations: &[u8]) -> bool {
    memchr_iter(b'-', declarations).any(|at| {
        let digits = declarations.get(at + 1..at + 4);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
    })
}

/// Returns whether declarations move an element off the screen, or leave no room for it.
pub(crate) fn is_out_of_sight(declarations: &str) -> bool {
    let bytes = declarations.as_bytes();
    let has = |part: &&[u8]| memmem::find(bytes, part).is_some();
    if !OUT_OF_SIGHT.iter().any(has) && !has_far_offset(bytes) {
        return false;
    }
    let (mut flat, mut cut, mut away) = (false, false, false);
    for (name, value) in declared(declarations) {
        match name.as_str() {
            "left" | "right" | "top" | "text-indent" => {
                away |= pixels(&value).is_some_and(|offset| offset <= OFF_SCREEN);
            }
            "clip" => away |= is_empty_clip(&value),
            "clip-path" | "-webkit-clip-path" => away |= is_empty_inset(&value),
            "height" => flat = pixels(&value) == Some(0.0),
            "overflow" => cut |= value.starts_with("hidden"),
            "opacity" => cut |= pixels(&value) == Some(0.0),
            _ => {}
        }
    }
    away || flat && cut
}

/// Returns whether declarations leave text that nobody can read: in letters without a size, or white on white. Elements
/// within it may have others. Readers select text of another colour that is equal to the one behind it: a spoiler.
pub(crate) fn is_unreadable(declarations: &str) -> bool {
    if !UNREADABLE.iter().any(|part| memmem::find(declarations.as_bytes(), part).is_some()) {
        return false;
    }
    let (mut tiny, mut other, mut letters, mut behind) = (false, false, false, false);
    for (name, value) in declared(declarations) {
        // The first one may win.
        other |= value.contains('!');
        match name.as_str() {
            "font-size" => tiny = is_no_size(&value),
            "color" => letters = is_white(&value),
            "background" | "background-color" => {
                behind = is_white(&value);
                other |= value.contains('(');
            }
            // Pictures, letters cut out of them, lines around letters, shadows and the like.
            "background-image" | "background-clip" | "box-shadow" | "text-shadow" | "filter" => {
                other = true
            }
            "mix-blend-mode" => other = true,
            name => other |= name.starts_with("-webkit"),
        }
    }
    !other && (tiny || letters && behind)
}

/// Returns whether letters of this size are too small to read. Browsers ignore other numbers without a unit.
fn is_no_size(value: &str) -> bool {
    let has_unit = value.ends_with(|c: char| c.is_ascii_alphabetic());
    pixels(value)
        .is_some_and(|size| size == 0.0 || has_unit && (0.0..=UNREADABLE_SIZE).contains(&size))
}

fn is_white(value: &str) -> bool {
    matches!(value, "#fff" | "#ffffff" | "white" | "rgb(255,255,255)" | "rgb(255, 255, 255)")
}

/// Returns whether a value of `clip` leaves at most a pixel, as frameworks do with text for screen readers.
fn is_empty_clip(value: &str) -> bool {
    let numbers = value.strip_prefix("rect(").and_then(|rest| rest.split(')').next());
    numbers.is_some_and(|numbers| {
        let mut numbers = numbers.split([',', ' ']).filter(|number| !number.is_empty());
        numbers.all(|number| pixels(number).is_some_and(|size| size <= 1.0))
    })
}

/// Returns whether a value of `clip-path` cuts at least half from each side. Other shapes may be the start of a movement.
fn is_empty_inset(value: &str) -> bool {
    let inside = value.strip_prefix("inset(").and_then(|rest| rest.split(')').next());
    let share = inside.and_then(|inside| inside.trim().strip_suffix('%')?.parse().ok());
    share.is_some_and(|share: f32| share >= HALF)
}

/// Share of a side in percent that leaves nothing if it is cut from both sides.
const HALF: f32 = 50.0;

/// Returns a length in pixels, at 16 pixels an `em`.
pub(super) fn pixels(value: &str) -> Option<f32> {
    let value = value.trim();
    let end = value.find(|c: char| c.is_ascii_alphabetic() || c == '%').unwrap_or(value.len());
    let (number, unit) = value.split_at(end);
    let number: f32 = number.trim().parse().ok()?;
    let unit = unit.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    match unit {
        "px" | "" => Some(number),
        "em" | "rem" => Some(16.0 * number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_without_a_size_and_white_on_white_are_unreadable() {
        for style in [
            "font-size:0",
            "color: red; font-size: 0px",
            "font-size:1px",
            "color:#fff;background:#FFF",
            "background-color: white; color: #ffffff",
        ] {
            assert!(is_unreadable(style), "{style}");
        }
        for style in [
            "font-size:.8em",
            "font-size:90%",
            "font-size:-1",
            "font-size:+1",
            "font-size:1",
            "font-size:16px !important;font-size:0",
            "color:#fff",
            "color:#fff;background:#000",
            "color:#000;background:#000",
            "background:url(a.png)",
            "color:#fff;background:#fff;background-clip:text",
            "color:#fff;background:#fff;text-shadow:0 0 4px #000",
            "color:#fff;background-color:#fff;background-image:url(a.png)",
            "color:#fff;background:linear-gradient(red, blue);background-color:#fff",
            "color:#333 !important;background:#fff;color:#fff",
            "color:inherit;background:inherit",
            "color:#fff;background:#fff url(a.png)",
            "line-height:0",
            "",
        ] {
            assert!(!is_unreadable(style), "{style}");
        }
    }
}
