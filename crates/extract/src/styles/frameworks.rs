//! Classes of common frameworks that hide elements.

/// Classes of elements that a script shows when they are scrolled to.
const ANIMATED: [&str; 4] = ["elementor-invisible", "wow", "animated", "aos-init"];

/// Returns whether an element with this class is shown by a script when it is scrolled to.
pub(crate) fn is_animated(class: &str) -> bool {
    class.split_ascii_whitespace().any(|name| ANIMATED.contains(&name))
}

/// Classes of common frameworks that hide an element on a desktop, until a script removes them, and those of text for
/// screen readers.
pub(super) fn is_hidden_class(class: &str) -> bool {
    let (mut hides, mut modal, mut fades) = (false, false, false);
    // The width from which on the last class applies, of those that apply to a desktop.
    let mut widest = 0;
    for name in class.split_ascii_whitespace() {
        if let Some((width, shows)) = from_width(name) {
            if width >= widest {
                (widest, hides) = (width, !shows);
            }
            continue;
        }
        match name {
            "d-none" | "hidden" | "is-hidden" => hides |= widest == 0,
            "visible-xs"
            | "visible-sm"
            | "hidden-lg"
            | "show-for-small-only"
            | "hide-for-large" => hides = true,
            "visible-md" | "visible-lg" => return false,
            "sr-only" | "visually-hidden" | "visuallyhidden" | "screen-reader-text"
            | "screen-reader-only" | "element-invisible" | "a11y-hidden" => return true,
            "modal" => modal = true,
            "fade" => fades = true,
            "show" | "in" | "active" | "open" => return false,
            _ => {}
        }
    }
    hides || modal && fades
}

/// Reads a class that shows or hides from some width on, such as `md:block` and `d-lg-none`: the number of the width, and
/// whether it shows.
fn from_width(name: &str) -> Option<(usize, bool)> {
    let (width, display) = match name.split_once(':') {
        Some(parts) => parts,
        None => name.strip_prefix("d-")?.split_once('-')?,
    };
    let width = ["sm", "md", "lg", "xl"].iter().position(|known| *known == width)? + 1;
    let shows = match display {
        "none" | "hidden" => false,
        "block" | "flex" | "grid" | "inline" | "inline-block" | "inline-flex" | "contents"
        | "table" | "table-cell" | "table-row" => true,
        _ => return None,
    };
    Some((width, shows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_frameworks_hide_unless_some_widths_show() {
        for class in [
            "d-none",
            "a hidden",
            "is-hidden",
            "modal fade",
            "d-block d-md-none",
            "d-none d-md-block d-xl-none",
            "block md:hidden",
            "visible-xs",
            "sr-only",
            "a screen-reader-text",
        ] {
            assert!(is_hidden_class(class), "{class}");
        }
        for class in [
            "hidden md:block",
            "d-none d-md-block",
            "modal fade show",
            "modal",
            "fade",
            "hidden-x",
            "max-md:hidden",
            "hidden-xs",
            "visible-xs visible-lg",
            "hover:hidden",
            "md:hidden lg:flex",
        ] {
            assert!(!is_hidden_class(class), "{class}");
        }
    }
}
