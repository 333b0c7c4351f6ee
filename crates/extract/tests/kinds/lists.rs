//! Pages of page builders, which put the text below classes that usually mark navigation, teasers or widgets.

use super::{PROSE, keeps, page};

fn boxes(texts: &[&str], wrap: impl Fn(usize, &str) -> String) -> String {
    texts.iter().enumerate().map(|(at, text)| wrap(at, text)).collect()
}

#[test]
fn text_in_boxes_that_are_named_navigation_is_text() {
    for (outer, inner) in [
        ("w-nav-list", "w-nav-item"),
        ("nav-menu", "menu-item"),
        ("w-dyn-list menu-wrapper", "w-dyn-item nav-card"),
        ("navigation-content", "menu-section"),
    ] {
        let items = boxes(&PROSE, |_, text| {
            format!("<div class='{inner}'><div class=text-block>{text}</div></div>")
        });
        let body = format!(
            "<div class=section><h1>All about our village</h1><div class='{outer}'>{items}</div></div>"
        );
        keeps(&page("All about our village", &body), &PROSE, &["Privacy policy", "Contact"]);
    }
}

#[test]
fn list_entries_that_are_named_menu_items_are_text_if_they_carry_two_thirds_of_it() {
    const DISHES: [&str; 8] = [
        "Fish soup with fennel, saffron and bread from our own oven, for two persons or more",
        "Baked beetroot with goat cheese and walnuts that we pick in the park behind the house",
        "Dumplings of potato and spinach, with butter, sage and a lot of grated cheese",
        "Trout from the lake in foil with lemon and dill, and potatoes in their skin",
        "Stew of beans, carrots and smoked ham, which was in the oven all night",
        "Mushrooms of the season in cream, with noodles that are made while you wait",
        "Plum cake with yeast dough and a spoon of whipped cream on top of it",
        "A plate of cheeses of the valley, with pears and a glass of sweet wine",
    ];
    for (list, item) in
        [("menu", "menu-item"), ("w-nav-list", "w-nav-entry"), ("food-menu-list", "menu-list-item")]
    {
        let entries = boxes(&DISHES, |at, dish| {
            format!("<li class='{item}'><h3>Number {}</h3><p>{dish}</p></li>", at + 1)
        });
        let body = format!(
            "<main><h1>What we cook</h1><p>{}</p><ul class='{list}'>{entries}</ul></main>",
            PROSE[1]
        );
        keeps(
            &page("What we cook", &body),
            &[&[PROSE[1]], &DISHES[..]].concat(),
            &["Privacy policy"],
        );
    }
}

#[test]
fn a_list_of_sentences_named_a_menu_is_text_beside_a_longer_text() {
    let dishes = [
        "The fish soup has fennel and saffron in it, and it comes with bread from our own oven for two persons or more.",
        "Our beetroot is baked with goat cheese and with walnuts that we pick in the park behind the house.",
        "The trout is from the lake, and we put it in foil with lemon and dill before it goes into the fire.",
        "This stew of beans and smoked ham was in the oven all night, so it is always the first to be gone.",
        "The plum cake is made with yeast dough, and there is a spoon of whipped cream on top of it.",
    ];
    for (list, item) in [("menu", "menu-item"), ("w-nav-list", "w-nav-entry"), ("tabs", "tab-pane")]
    {
        let entries = boxes(&dishes, |_, dish| format!("<li class='{item}'><p>{dish}</p></li>"));
        let prose = boxes(&PROSE[..5], |_, text| format!("<p>{text}</p>"));
        let body =
            format!("<main><h1>What we cook</h1>{prose}<ul class='{list}'>{entries}</ul></main>");
        let all: Vec<&str> = PROSE[..5].iter().chain(&dishes).copied().collect();
        keeps(&page("What we cook", &body), &all, &["Privacy policy"]);
    }
}

#[test]
fn text_in_widgets_cards_and_slides_is_text() {
    for (outer, inner) in [
        (
            "elementor-section elementor-top-section",
            "elementor-widget elementor-widget-text-editor",
        ),
        ("et_pb_section", "et_pb_module et_pb_blurb popup-card"),
        ("vc_row wpb_row", "wpb_widget promo-box"),
        ("swiper carousel", "swiper-slide teaser-slide"),
        ("skip-section", "tag item"),
    ] {
        let items = boxes(&PROSE, |at, text| {
            format!(
                "<div class='{inner}'><div class=widget-container><h2>Part {at} of the tour</h2><p>{text}</p></div></div>"
            )
        });
        let body = format!("<div class='{outer}'><h1>A tour of the village</h1>{items}</div>");
        keeps(&page("A tour of the village", &body), &PROSE, &["Privacy policy", "Contact"]);
    }
}

#[test]
fn a_list_in_a_menu_element_and_the_source_of_a_quotation_are_text() {
    let items = [
        "The first rule of the harbour is that nobody fishes from the stairs.",
        "The second is that whoever finds a rope hangs it on the hook beside the lamp.",
    ];
    let list = format!("<menu><li>{}</li><li>{}</li></menu>", items[0], items[1]);
    let quote = format!(
        "<blockquote><p>{}</p><footer>— <cite>Anna Lind, keeper of the lamp for forty years</cite></footer></blockquote>",
        PROSE[2]
    );
    let body = format!(
        "<menu><button>Print</button></menu><main><h1>Rules</h1><p>{}</p>{list}{quote}<p>{}</p></main>",
        PROSE[0], PROSE[4]
    );
    let wanted =
        [PROSE[0], items[0], items[1], PROSE[2], "Anna Lind, keeper of the lamp", PROSE[4]];
    keeps(&page("Rules", &body), &wanted, &["Print", "Copyright"]);
}

#[test]
fn a_real_menu_above_a_text_is_no_text() {
    let links = "<li class=menu-item><a href=/p>Prices of all our rooms</a></li><li class=menu-item><a href=/w>Weather and \
                 webcams</a></li><li class=menu-item><a href=/m>Maps of the region</a></li>";
    let body = format!(
        "<div class=w-nav><ul class=nav-menu>{links}</ul></div><div class=sidebar><p>Sign up for our letter, which comes \
         once a month.</p></div><div class=content><h1>The bridge</h1><p>{}</p><p>{}</p><p>{}</p></div>",
        PROSE[4], PROSE[0], PROSE[2]
    );
    keeps(
        &page("The bridge", &body),
        &[PROSE[4], PROSE[0], PROSE[2]],
        &["Weather and", "Maps of", "Prices of"],
    );
}
