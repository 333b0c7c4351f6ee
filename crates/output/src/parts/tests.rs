use std::path::Path;
use std::{fs, io};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use proptest::prelude::*;

use super::*;

const COLUMNS: &[Column] = &[
    Column::required("text", ColumnType::Text),
    Column::optional("note", ColumnType::Text),
    Column::required("id", ColumnType::Integer),
    Column::optional("count", ColumnType::Integer),
    Column::optional("share", ColumnType::Float),
];

/// Reads all parts of a folder.
pub(crate) fn read(folder: &Path) -> Vec<Vec<Cell>> {
    let mut names: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| part_number(path.file_name().unwrap().to_str().unwrap()).is_some())
        .collect();
    names.sort();
    let mut rows = Vec::new();
    for path in names {
        let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let cell = |field: &Field| match field {
                Field::Null => Cell::Null,
                Field::Str(text) => Cell::Text(text.clone()),
                Field::Long(value) => Cell::Integer(*value),
                Field::Double(value) => Cell::Float(*value),
                other => panic!("{other:?}"),
            };
            rows.push(row.get_column_iter().map(|(_, field)| cell(field)).collect());
        }
    }
    rows
}

fn names(folder: &Path) -> Vec<String> {
    let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(name).collect();
    names.sort();
    names
}

fn row(text: &str) -> Vec<Cell> {
    vec![Cell::Text(text.into()), Cell::Null, Cell::Integer(1), Cell::Null, Cell::Null]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn rows_are_read_back_as_they_were_written_whatever_the_limits(
        rows in proptest::collection::vec(
            (".{0,40}", proptest::option::of(".{0,9}"), any::<i64>(), proptest::option::of(any::<u64>()),
             proptest::option::of(-1e9f64..1e9)),
            0..60,
        ),
        group_bytes in 1usize..4000,
        part_bytes in 1u64..4000,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut parts = Parts::create(folder.path(), COLUMNS, Limits { group_bytes, part_bytes }).unwrap();
        let cells: Vec<Vec<Cell>> = rows
            .into_iter()
            .map(|(text, note, id, count, share)| {
                vec![text.into(), note.into(), Cell::Integer(id), count.into(), share.into()]
            })
            .collect();
        for row in &cells {
            parts.push(row.clone()).unwrap();
        }
        let written = parts.finish().unwrap();
        prop_assert_eq!(written.rows, cells.len() as u64);
        prop_assert_eq!(names(folder.path()).len(), written.parts as usize + 1);
        prop_assert_eq!(read(folder.path()), cells);
    }
}

#[test]
fn row_groups_and_parts_are_bounded_and_a_part_appears_when_it_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { group_bytes: 10_000, part_bytes: 20_000 };
    let mut parts = Parts::create(folder.path(), COLUMNS, limits).unwrap();
    let complete =
        |folder: &Path| names(folder).iter().filter(|name| part_number(name).is_some()).count();
    let mut seen = 0;
    let mut state = 7u64;
    for _ in 0..1_000 {
        // Text that does not compress.
        let mut text = String::new();
        for _ in 0..50 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push_str(&format!("{state:x}"));
        }
        parts.push(row(&text)).unwrap();
        assert!(parts.buffered.1 < limits.group_bytes);
        if complete(folder.path()) > seen {
            seen += 1;
            let path = folder.path().join(format!("part-{:05}.parquet", seen - 1));
            let reader = SerializedFileReader::new(fs::File::open(&path).unwrap()).unwrap();
            let groups = reader.metadata().row_groups();
            let most = groups.iter().map(|group| group.total_byte_size()).max().unwrap();
            assert!(most < 20_000, "{most}");
            assert!(fs::metadata(&path).unwrap().len() < limits.part_bytes + 15_000);
        }
    }
    assert!(seen > 5 && !folder.path().join(DONE).exists());
    // A writer that is dropped, as after an error or a full disk, leaves no half part.
    drop(parts);
    assert!(names(folder.path()).iter().all(|name| part_number(name).is_some()));
    assert_eq!(complete(folder.path()), seen);
}

#[test]
fn an_export_replaces_the_parts_of_the_one_before_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    for name in
        ["part-00000.parquet", "part-00017.parquet", "_SUCCESS", "part-x.parquet", "mine.txt"]
    {
        fs::write(folder.path().join(name), "before").unwrap();
    }
    let mut parts = Parts::create(folder.path(), COLUMNS, Limits::default()).unwrap();
    assert_eq!(names(folder.path()), ["mine.txt", "part-x.parquet"]);
    parts.push(row("one")).unwrap();
    let written = parts.finish().unwrap();
    assert_eq!((written.rows, written.parts), (1, 1));
    assert_eq!(
        names(folder.path()),
        ["_SUCCESS", "mine.txt", "part-00000.parquet", "part-x.parquet"]
    );
    assert_eq!(read(folder.path()), [row("one")]);
}

#[test]
fn an_export_that_is_interrupted_anywhere_continues_after_its_last_complete_part() {
    let limits = Limits { group_bytes: 300, part_bytes: 600 };
    let rows: Vec<Vec<Cell>> = (0..200).map(|n| row(&format!("row {n} {}", n * 7919))).collect();
    let folder = tempfile::tempdir().unwrap();
    let mut most = 0;
    for interrupted in [3, 17, 0, 90, 40, 199, 200] {
        let mut parts = Parts::resume(folder.path(), COLUMNS, limits, "one").unwrap();
        assert!(parts.written().rows >= most, "complete parts stay");
        most = parts.written().rows;
        for row in rows.iter().take(interrupted) {
            if !parts.has_next() {
                parts.push(row.clone()).unwrap();
            }
        }
        // Dropped, as by a kill.
    }
    assert!(most > 100, "{most}");
    // A part that was renamed but not recorded is written again.
    let parts = Parts::resume(folder.path(), COLUMNS, limits, "one").unwrap().written().parts;
    fs::write(folder.path().join(part_name(parts)), "half").unwrap();
    let mut last = Parts::resume(folder.path(), COLUMNS, limits, "one").unwrap();
    for row in &rows {
        if !last.has_next() {
            last.push(row.clone()).unwrap();
        }
    }
    let written = last.finish().unwrap();
    assert_eq!(written.rows, 200);
    assert_eq!(read(folder.path()), rows);
    assert_eq!(names(folder.path()).len(), written.parts as usize + 1, "no other file is left");
    // A complete export is not continued, but replaced.
    assert_eq!(Parts::resume(folder.path(), COLUMNS, limits, "one").unwrap().written().rows, 0);
}

#[test]
fn an_export_of_another_state_or_with_a_missing_part_is_not_continued_with() {
    let limits = Limits { group_bytes: 100, part_bytes: 1 };
    let folder = tempfile::tempdir().unwrap();
    let begun = || {
        let mut parts = Parts::resume(folder.path(), COLUMNS, limits, "one").unwrap();
        assert_eq!(parts.written(), Written::default());
        for number in 0..6 {
            parts
                .push(row(&format!("a row of more than a hundred bytes {number} {:70}", "")))
                .unwrap();
        }
        assert_eq!(parts.written().parts, 6);
    };
    begun();
    let other = Parts::resume(folder.path(), COLUMNS, limits, "two").unwrap();
    assert_eq!((other.written().rows, names(folder.path()).len()), (0, 0));
    drop(other);
    begun();
    fs::remove_file(folder.path().join(part_name(2))).unwrap();
    let parts = Parts::resume(folder.path(), COLUMNS, limits, "one").unwrap();
    assert_eq!((parts.written().rows, parts.written().parts), (2, 2));
    assert_eq!(names(folder.path()), [PROGRESS, "part-00000.parquet", "part-00001.parquet"]);
    drop(parts);
    fs::write(folder.path().join(PROGRESS), "{").unwrap();
    let parts = Parts::resume(folder.path(), COLUMNS, limits, "one").unwrap();
    assert_eq!((parts.written().rows, names(folder.path()).len()), (0, 0));
}

#[test]
fn a_table_without_rows_has_one_part_with_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    let written =
        Parts::create(folder.path(), COLUMNS, Limits::default()).unwrap().finish().unwrap();
    assert_eq!((written.rows, written.parts), (0, 1));
    let file = fs::File::open(folder.path().join("part-00000.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    assert_eq!(reader.metadata().file_metadata().schema_descr().num_columns(), COLUMNS.len());
}

#[test]
fn a_row_that_does_not_fit_is_an_error_that_names_it_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut parts = Parts::create(folder.path(), COLUMNS, Limits::default()).unwrap();
    parts.push(row("one")).unwrap();
    let short = parts.push(vec![Cell::Null]).unwrap_err();
    assert_eq!(short.to_string(), "row 1: 1 values for 5 columns");
    let mut bad = row("two");
    bad[0] = Cell::Null;
    assert_eq!(parts.push(bad).unwrap_err().to_string(), "row 1: column text cannot have Null");
    parts.finish().unwrap();
    assert_eq!(read(folder.path()), [row("one")]);
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let error = Parts::create(&file, COLUMNS, Limits::default()).unwrap_err();
    assert!(error.to_string().starts_with(&file.display().to_string()), "{error}");
}
