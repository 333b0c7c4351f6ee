use crate::support::{crawl, printed, text};

#[test]
fn help_completions_and_man_page_name_the_exit_codes() {
    let help = text(&crawl().arg("--help").output().unwrap().stdout);
    let man = text(&crawl().arg("man").output().unwrap().stdout);
    for text in [&help, &man] {
        assert!(text.contains("no seed could be fetched"), "{text}");
    }
    assert!(
        text(&crawl().args(["completions", "bash"]).output().unwrap().stdout).contains("_crawl")
    );
}

#[test]
fn the_man_page_has_the_flags_of_every_command_and_names_no_other_page() {
    let page = printed(&["man"]);
    for words in ["CRAWL DUPLICATES RESTORE", "CRAWL EXPORT", "CRAWL FIND\\-CLUSTERS", "\\-\\-undo"]
    {
        let plain = words.replace("\\-", "-");
        assert!(page.contains(words) || page.contains(&plain), "{words}");
    }
    assert!(page.contains("[default: crawl\\-data]"), "a value that looks like a command is none");
    assert!(!page.contains("(1)"), "{}", page.lines().find(|line| line.contains("(1)")).unwrap());
}
