//! Files come from strangers: whatever they hold, reading them ends in a table or in an error.

use std::io::{Cursor, Write};

use mereo_data::{Kind, ReadOptions, detect, read, read_bytes};
use proptest::prelude::*;

/// Kinds whose readers live here and take a single file.
const KINDS: [Kind; 7] =
    [Kind::Csv, Kind::Npy, Kind::Npz, Kind::Idx, Kind::Images, Kind::Ratings, Kind::Words];

fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\0".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values);
    bytes
}

fn npz() -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let arrays = [
        ("data", npy("|u1", "(3,)", &[5, 6, 7])),
        ("indices", npy("<i4", "(3,)", &[0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0])),
        ("indptr", npy("|u1", "(3,)", &[0, 2, 3])),
        ("shape", npy("<i8", "(2,)", &[2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0])),
        ("y", npy("|S2", "(2,)", b"a\0bb")),
    ];
    for (name, bytes) in arrays {
        // Stored as it is, so that changed bytes reach the arrays.
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored);
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(&bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn pictures() -> Vec<Vec<u8>> {
    let image = image::RgbImage::from_fn(9, 7, |x, y| image::Rgb([x as u8 * 20, y as u8 * 30, 5]));
    let grey = image::GrayImage::from_fn(9, 7, |x, y| image::Luma([(x * y) as u8]));
    let mut files = Vec::new();
    for format in [image::ImageFormat::Png, image::ImageFormat::Jpeg, image::ImageFormat::Pnm] {
        for picture in [image::DynamicImage::from(image.clone()), grey.clone().into()] {
            let mut bytes = Cursor::new(Vec::new());
            picture.write_to(&mut bytes, format).unwrap();
            files.push(bytes.into_inner());
        }
    }
    let mut tar = tar::Builder::new(Vec::new());
    for (index, bytes) in files.iter().enumerate() {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        tar.append_data(&mut header, format!("{}/{index}.png", index % 2), &bytes[..]).unwrap();
    }
    files.push(tar.into_inner().unwrap());
    files
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// Small files that are right, to be made wrong.
fn valid_files() -> Vec<(Kind, Vec<u8>)> {
    let mut files = vec![
        (Kind::Csv, b"a,b,\"c\nd\"\n1,2,NA\n3,-4.5e3,?\n".to_vec()),
        (Kind::Csv, b" 1  2\t3 \r\n4 5 6\r\n".to_vec()),
        (Kind::Npy, npy("<f4", "(2, 1, 2)", &[1; 16])),
        (Kind::Npy, npy("|u1", "(2, 3)", &[1; 6])),
        (Kind::Npz, npz()),
        (Kind::Idx, vec![0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4]),
        (Kind::Ratings, b"1\t2\t3\t881250949\n2\t2\t4\t881250950\n".to_vec()),
        (Kind::Ratings, b"userId,movieId,rating\n1,2,3\n2,2,4\n".to_vec()),
        (Kind::Words, b"2\n3\n2\n1 2 4\n2 3 1\n".to_vec()),
    ];
    files.extend(pictures().into_iter().map(|bytes| (Kind::Images, bytes)));
    let packed: Vec<_> = files
        .iter()
        .filter(|(kind, _)| *kind != Kind::Npz)
        .map(|(kind, bytes)| (*kind, gzip(bytes)))
        .collect();
    files.extend(packed);
    files
}

/// Little memory, so that a reader which trusts a header shows itself.
fn options() -> ReadOptions {
    ReadOptions { most_bytes: Some(16 << 20), ..ReadOptions::default() }
}

#[test]
fn the_files_that_are_changed_below_are_right() {
    let folder = tempfile::tempdir().unwrap();
    for (index, (kind, bytes)) in valid_files().into_iter().enumerate() {
        let read_back = read_bytes(kind, &bytes, &options());
        let mixed_tar = kind == Kind::Images && bytes.len() > 4096;
        assert!(read_back.is_ok() || mixed_tar, "{kind} {index}: {read_back:?}");
        // Two lines are too few to be sure of ratings without a header.
        let path = folder.path().join(index.to_string());
        std::fs::write(&path, &bytes).unwrap();
        let detected = detect(&path).unwrap();
        assert!(detected == kind || kind == Kind::Ratings && detected == Kind::Csv, "{index}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for kind in KINDS {
            let _ = read_bytes(kind, &bytes, &options());
        }
        let _ = read_bytes(Kind::Csv, &gzip(&bytes), &options());
    }

    #[test]
    fn random_text_never_panics(text in "[0-9a,;:\t\n\r \"|.\\-]{0,200}") {
        for kind in [Kind::Csv, Kind::Ratings, Kind::Words] {
            let _ = read_bytes(kind, text.as_bytes(), &options());
        }
    }

    #[test]
    fn changed_files_never_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in proptest::option::of(any::<prop::sample::Index>()),
        which in any::<prop::sample::Index>(),
    ) {
        let files = valid_files();
        let (kind, mut bytes) = files[which.index(files.len())].clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = read_bytes(kind, &bytes, &options());
        let labelled = ReadOptions { label: Some("a".into()), ..options() };
        let _ = read_bytes(kind, &bytes, &labelled);
    }
}

#[test]
fn a_path_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nothing.csv");
    for error in [detect(&path).err(), read(&path, &ReadOptions::default()).err()] {
        let error = error.unwrap().to_string();
        assert!(error.starts_with(&path.display().to_string()), "{error}");
    }
    let stated = ReadOptions { kind: Some(Kind::Npz), ..ReadOptions::default() };
    assert!(read(&path, &stated).unwrap_err().to_string().contains("nothing.csv"));
}

#[test]
fn errors_in_files_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    let place = path.display().to_string();
    std::fs::write(&path, "x,y\n1,2\n3\n").unwrap();
    let error = read(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        format!("{place}, line 3: found 1 field, expected 2 fields as in the lines before")
    );
    std::fs::write(&path, "").unwrap();
    let error = read(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(error, format!("{place}: found an empty file, expected data"));
    std::fs::write(&path, "x,y\n").unwrap();
    let error = read(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert_eq!(error, format!("{place}: found no rows, expected at least one row of data"));
}

#[test]
fn options_without_meaning_are_refused() {
    let error = read_bytes(
        Kind::Csv,
        b"1\n",
        &ReadOptions { resize: Some((2, 2)), ..ReadOptions::default() },
    );
    assert_eq!(
        error.unwrap_err().to_string(),
        "option `resize`: it has no meaning for data of kind csv, only for images"
    );
}

#[test]
fn labels_from_another_file_must_be_labels() {
    let folder = tempfile::tempdir().unwrap();
    let (data, labels) = (folder.path().join("x.npy"), folder.path().join("y"));
    std::fs::write(&data, npy("|u1", "(2, 1)", &[1, 2])).unwrap();
    let with = |label: &std::path::Path| {
        let label = Some(label.to_str().unwrap().to_owned());
        read(&data, &ReadOptions { label, ..ReadOptions::default() })
    };
    std::fs::write(&labels, npy("|u1", "(2,)", &[8, 7])).unwrap();
    assert_eq!(with(&labels).unwrap().about().labels.as_ref().unwrap().names, ["7", "8"]);
    std::fs::write(&labels, "7\n8\n").unwrap();
    let error = with(&labels).unwrap_err().to_string();
    assert!(error.contains("a file of kind csv, expected labels as npy or IDX"), "{error}");
    let error = with(&data.with_file_name("none")).unwrap_err().to_string();
    assert!(error.contains("none"), "{error}");
}
