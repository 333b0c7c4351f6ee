//! Declarations of styles that hide an element.

use memchr::memmem;

/// Parts of declarations that leave nothing to see, to skip others.
const OUT_OF_SIGHT: [&[u8]; 4] = [b"-999", b"-100", b"rect(", b"height"];
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
            "visibility" if value.starts_with("hidden") => {
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

/// Returns whether declarations move an element off the screen, or leave no room for it.
pub(crate) fn is_out_of_sight(declarations: &str) -> bool {
    let bytes = declarations.as_bytes();
    if !OUT_OF_SIGHT.iter().any(|part| memmem::find(bytes, part).is_some()) {
        return false;
    }
    let (mut flat, mut cut, mut away) = (false, false, false);
    for (name, value) in declared(declarations) {
        match name.as_str() {
            "left" | "right" | "top" | "text-indent" => {
                away |= pixels(&value).is_some_and(|offset| offset <= OFF_SCREEN);
            }
            "clip" => away |= is_empty_clip(&value),
            "height" => flat = pixels(&value) == Some(0.0),
            "overflow" => cut |= value.starts_with("hidden"),
            "opacity" => cut |= pixels(&value) == Some(0.0),
            _ => {}
        }
    }
    away || flat && cut
}

/// Returns whether declarations leave text that nobody can read: in letters without a size, or of the colour behind them.
/// Elements within it may have others.
pub(crate) fn is_unreadable(declarations: &str) -> bool {
    if !UNREADABLE.iter().any(|part| memmem::find(declarations.as_bytes(), part).is_some()) {
        return false;
    }
    let (mut tiny, mut filled, mut letters, mut behind) = (false, false, None, None);
    for (name, value) in declared(declarations) {
        match name.as_str() {
            "font-size" => tiny = pixels(&value).is_some_and(|size| size <= UNREADABLE_SIZE),
            "color" => letters = color(&value).map(str::to_owned),
            "background" | "background-color" => behind = color(&value).map(str::to_owned),
            // Letters cut out of a picture, or drawn as a shadow.
            "-webkit-text-fill-color" | "text-shadow" => filled = true,
            "background-clip" | "-webkit-background-clip" => filled = true,
            _ => {}
        }
    }
    tiny || !filled && letters.is_some() && letters == behind
}

/// Returns a colour, white and black by their names; `None` for a word such as `inherit`, and for more than a colour.
fn color(value: &str) -> Option<&str> {
    match value.split('!').next().unwrap_or_default().trim() {
        "#fff" | "#ffffff" | "white" => Some("white"),
        "#000" | "#000000" | "black" => Some("black"),
        other if other.starts_with("rgb(") && other.ends_with(')') => Some(other),
        other => other.starts_with('#').then_some(other).filter(|other| !other.contains(' ')),
    }
}

/// Returns whether a value of `clip` leaves at most a pixel, as frameworks do with text for screen readers.
fn is_empty_clip(value: &str) -> bool {
    let numbers = value.strip_prefix("rect(").and_then(|rest| rest.split(')').next());
    numbers.is_some_and(|numbers| {
        let mut numbers = numbers.split([',', ' ']).filter(|number| !number.is_empty());
        numbers.all(|number| pixels(number).is_some_and(|size| size <= 1.0))
    })
}

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
    fn letters_without_a_size_or_a_colour_of_their_own_are_unreadable() {
        for style in [
            "font-size:0",
            "color: red; font-size: 0px",
            "font-size:1px",
            "color:#fff;background:#FFF",
            "background-color: white; color: #ffffff !important",
            "color:rgb(1, 2, 3);background:rgb(1, 2, 3)",
        ] {
            assert!(is_unreadable(style), "{style}");
        }
        for style in [
            "font-size:.8em",
            "font-size:90%",
            "color:#fff",
            "color:#fff;background:#000",
            "background:url(a.png)",
            "color:#fff;background:#fff;background-clip:text",
            "color:#fff;background:#fff;text-shadow:0 0 4px #000",
            "color:inherit;background:inherit",
            "color:#fff;background:#fff url(a.png)",
            "line-height:0",
            "",
        ] {
            assert!(!is_unreadable(style), "{style}");
        }
    }
}
