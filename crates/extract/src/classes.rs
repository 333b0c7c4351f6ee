//! What the class and the id of an element say. Pages repeat few classes in many elements, so each is read once.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::box_names::{BoxName, box_name};
use crate::class_words::Names;
use crate::comment_names::{CommentName, comments_of_class, comments_of_name};
use crate::metadata::{Field, field_of_class};

/// Maximum number of classes of a page that are remembered. Further ones are read each time.
const MAX_CLASSES: usize = 4096;

/// What the class and the id of an element say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassInfo {
    pub(crate) names: Names,
    pub(crate) box_name: Option<BoxName>,
    pub(crate) comments: Option<CommentName>,
    /// The metadata that the class and the id name.
    pub(crate) fields: [Option<Field>; 2],
    /// Hash of the class without digits.
    pub(crate) hash: u32,
}

impl ClassInfo {
    fn of_class(class: &str) -> Self {
        Self {
            names: Names::of(class, ""),
            box_name: box_name(class),
            comments: comments_of_class(class),
            fields: [field_of_class(class), None],
            hash: class.bytes().filter(|b| !b.is_ascii_digit()).fold(FNV_BASIS, fnv),
        }
    }

    /// Adds an id, which other elements rarely have.
    fn with_id(mut self, id: &str) -> Self {
        if !id.is_empty() {
            self.names = self.names.and(id);
            self.comments = self.comments.into_iter().chain(comments_of_name(id)).min();
            self.fields[1] = field_of_class(id);
        }
        self
    }
}

/// The classes of a page that were read.
#[derive(Debug, Default)]
pub(crate) struct Classes<'a>(HashMap<&'a str, ClassInfo, RandomState>);

impl<'a> Classes<'a> {
    pub(crate) fn info(&mut self, class: &'a str, id: &str) -> ClassInfo {
        let info = match self.0.get(class) {
            Some(info) => *info,
            None => {
                let info = ClassInfo::of_class(class);
                if self.0.len() < MAX_CLASSES {
                    self.0.insert(class, info);
                }
                info
            }
        };
        info.with_id(id)
    }
}

const FNV_BASIS: u32 = 0x811c_9dc5;

/// One step of FNV-1a.
pub(crate) fn fnv(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_that_is_remembered_says_the_same() {
        let mut classes = Classes::default();
        let named = ["", "nav", "leserkommentare", "byline", "author-bio", "a7 b", "responses"];
        for _ in 0..2 {
            for (class, id) in named.iter().flat_map(|class| named.map(|id| (*class, id))) {
                let info = classes.info(class, id);
                assert_eq!(info.names, Names::of(class, id), "{class} {id}");
                assert_eq!(info.box_name, box_name(class));
                let both = comments_of_class(class).into_iter().chain(comments_of_name(id));
                assert_eq!(info.comments, both.min());
                assert_eq!(info.fields, [class, id].map(field_of_class));
            }
        }
        assert_eq!(classes.info("a1", "").hash, classes.info("a22", "").hash);
    }

    #[test]
    fn the_number_of_remembered_classes_is_bounded() {
        let names: Vec<String> = (0..MAX_CLASSES + 10).map(|at| format!("c{at}")).collect();
        let mut classes = Classes::default();
        names.iter().for_each(|name| _ = classes.info(name, ""));
        assert_eq!(classes.0.len(), MAX_CLASSES);
    }
}
