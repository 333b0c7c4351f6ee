//! Names of months in the languages of the Web.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::RandomState;

/// Names of each month, in the cases that dates have, and their abbreviations. A word that only begins like a name is
/// none: a market is not in March.
const MONTHS: [(u8, &str); 12] = [
    (
        1,
        "ene enero gen gener gennaio gén ian ianuarie jaanuar jan janar janeiro januar \
         januara januari januarie januarja january január januára janv janvier janvāris \
         janvārī janúar jän jänner leden ledna lednu oca ocak sausio sausis sty stycz styczen \
         styczeń stycznia styczniu tammi tammikuu xaneiro ιαν ιανουάριος ιανουαρίου \
         ιανουαριος ιανουαριου студзеня січ січень січня січні янв январе январь января \
         януари јануар",
    ),
    (
        2,
        "feb febbraio feber febr febreiro febrer febrero februar februara februari februarie \
         februarja february február februára februāris februārī febrúar fev fevereiro fevr \
         fevrier fév févr février helmi helmikuu lut lutego luty lutym unora vasario vasaris \
         veebruar úno únor února şub şubat φεβ φεβρουάριος φεβρουαρίου φεβρουαριος \
         φεβρουαριου лют лютий лютого фебруар фев февр феврале февраль февраля февруари",
    ),
    (
        3,
        "brezna bře březen března kovas kovo maalis maaliskuu maart maerz mar marca march \
         marco marcu marec maret mars mart marta martie marts martā marzec marzo març março \
         mrt március mär märts märz μάρ μάρτιος μαρ μαρτίου μαρτιος μαρτιου бер березень \
         березня березні мар март марта марте",
    ),
    (
        4,
        "abr abril apr april aprila aprile aprilie aprill apríl apríla aprīlis aprīlī avr \
         avril balandis balandžio duben dubna huhti huhtikuu kwi kwiecień kwietnia kwietniu \
         nis nisan ápr április απρ απρίλιος απριλίου απριλιος απριλιου апр апреле апрель \
         апреля април кві квіт квітень квітня квітні",
    ),
    (
        5,
        "gegužė gegužės kvetna kvě květen května mag maggio mai maig maijs maijā maio maj \
         maja maju may mayis mayo mayıs maí mei máj mája május touko toukokuu μάι μάιος μαΐ \
         μαΐου μαίου μαιος μαιου мае май мая мај тра трав травень травня травні",
    ),
    (
        6,
        "birželio birželis cervna cze czerw czerwca czerwcu czerwiec giu giugno haz haziran \
         iun iunie juin jun juna june junho juni junij junija junio juny juuni jún júna \
         június júní jūnijs jūnijā kesä kesäkuu xuño červen června čvn ιουν ιουνίου ιουνιος \
         ιουνιου ιούν ιούνιος июне июнь июня чер черв червень червня червні юни јун",
    ),
    (
        7,
        "cervence heinä heinäkuu iul iulie juil juillet jul jula julho juli julij julija \
         julio juliol july juuli júl júla július júlí jūlijs jūlijā liepa liepos lip lipca \
         lipcu lipiec lug luglio tem temmuz xullo července červenec čvc ιουλ ιουλίου ιουλιος \
         ιουλιου ιούλ ιούλιος июле июль июля лип липень липня липні юли јул",
    ),
    (
        8,
        "ago agost agosto agustos agustus aout aoû août aug august augusta augusti augusto \
         augusts augustus augustā augusztus avg avgust avgusta ağu ağustos elo elokuu \
         rugpjūtis rugpjūčio sie sierp sierpień sierpnia sierpniu srp srpen srpna ágúst αυγ \
         αυγουστος αυγουστου αυγούστου αύγ αύγουστος авг август августа августе аугуст сер \
         серп серпень серпня серпні",
    ),
    (
        9,
        "eyl eylul eylül rugsėjis rugsėjo sep sept septembar september septembra septembre \
         septembrie septembris septembrī septiembre set setembre setembro setiembre sett \
         settembre syys syyskuu szept szeptember wrz wrzesień wrzesnia wrześ września \
         wrześniu zari zář září σεπ σεπτ σεπτέμβριος σεπτεμβρίου σεπτεμβριος σεπτεμβριου вер \
         верес вересень вересня вересні сен сент сентябре сентябрь сентября сеп септ \
         септембар септември",
    ),
    (
        10,
        "eki ekim loka lokakuu oct october octobre octombrie octubre okt oktobar oktober \
         oktobra oktobris oktobrī oktoober október októbra ott ottobre out outubro pazdz \
         pazdziernika paź paźdz październik października październiku rijna spalio spalis říj \
         říjen října οκτ οκτωβρίου οκτωβριος οκτωβριου οκτώβριος жов жовт жовтень жовтня \
         жовтні окт октобар октомври октябре октябрь октября",
    ),
    (
        11,
        "kas kasim kasım lapkritis lapkričio lis listopad listopada listopadu listopadzie \
         marras marraskuu noe noi noiembrie nov novembar november novembra novembre novembris \
         novembro novembrī noviembre nóvember νοέ νοέμβριος νοε νοεμβρίου νοεμβριος νοεμβριου \
         лис лист листопад листопада листопаді новембар ноември ноя нояб ноябре ноябрь ноября",
    ),
    (
        12,
        "ara aralik aralık dec decembar december decembra decembre decembrie decembris \
         decembrī des desember desembre detsember dez dezember dezembro dic dicembre \
         diciembre déc décembre gru grudnia grudniu grudz grudzień gruodis gruodžio joulu \
         joulukuu prosince prosinec δεκ δεκέμβριος δεκεμβρίου δεκεμβριος δεκεμβριου груд \
         грудень грудня грудні дек декабре декабрь декабря декември децембар",
    ),
];

static NAMES: LazyLock<HashMap<&str, u8, RandomState>> = LazyLock::new(|| {
    MONTHS
        .iter()
        .flat_map(|(month, names)| names.split(' ').map(move |name| (name, *month)))
        .collect()
});

/// Finnish months end so, and then have endings of up to four letters: `helmikuussa`.
const FINNISH: &str = "kuu";
const MAX_ENDING: usize = 4;

/// Returns the month that a word in lower case names.
///
/// # Complexity
/// Linear in the word.
pub(crate) fn month(word: &str) -> Option<u8> {
    let named = NAMES.get(word).copied();
    named.or_else(|| {
        let end = word.find(FINNISH)? + FINNISH.len();
        let (name, ending) = word.split_at_checked(end)?;
        let is_ending = ending.len() <= MAX_ENDING && ending.chars().all(char::is_alphabetic);
        NAMES.get(name).copied().filter(|_| is_ending)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_known_in_many_languages() {
        for (names, expected) in [
            ("january januar janvier enero gennaio stycznia января ιανουαρίου leden tammikuuta", 1),
            ("february février febrero lutego февраля února helmikuussa şubat", 2),
            ("march märz mars marzo марта μαρτίου března maaliskuuta", 3),
            ("june juin juni giugno июня czerwca červen kesäkuuta", 6),
            ("july juillet julio luglio lipca července heinäkuuta temmuz", 7),
            ("august août agosto sierpnia srpna elokuuta ağustos", 8),
            ("oct october oktober octubre ottobre outubro października října lokakuuta", 10),
            ("november noviembre listopada ноября marraskuuta kasım", 11),
            ("sept september septembre wrzesień września syyskuun září eylül", 9),
            ("december dezember diciembre décembre grudnia prosince joulukuuta aralık", 12),
        ] {
            for name in names.split(' ') {
                assert_eq!(month(name), Some(expected), "{name}");
            }
        }
        // Words that begin like a month, names among them.
        for word in [
            "the",
            "x",
            "",
            "page",
            "market",
            "marathon",
            "marine",
            "sets",
            "decks",
            "augustine",
            "marshall",
            "mayor",
            "junior",
            "octane",
            "november5",
            "listing",
            "product",
            "maison",
            "decision",
            "settlement",
            "marketingabteilungsleiter",
            "tammi12",
            "kuu",
            "declan",
        ] {
            assert_eq!(month(word), None, "{word}");
        }
    }
}
