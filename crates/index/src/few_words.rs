//! A small dictionary for tests; users of the crate pass a complete one.

use std::sync::LazyLock;

use jieba_rs::Jieba;

const WORDS: &str = "学习 9\n编程 9\n语言 9\n我们 9\n在 9\n北京 9\n大学 9\n北京大学 9\n中华 9\n人民 9\n共和国 9\n\
    中华人民共和国 9\n";

pub(crate) fn jieba() -> &'static Jieba {
    static JIEBA: LazyLock<Jieba> =
        LazyLock::new(|| Jieba::with_dict(&mut WORDS.as_bytes()).unwrap());
    &JIEBA
}
