use image::{GrayImage, ImageBuffer, Luma, Rgb, RgbImage};
use mereo_core::{AnyTable, Cells};

use super::*;
use crate::{Kind, read, read_bytes};

fn encode(image: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.into().write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn grey(height: u32, width: u32, value: u8) -> Vec<u8> {
    encode(GrayImage::from_pixel(width, height, Luma([value])), ImageFormat::Png)
}

fn colour(height: u32, width: u32, value: [u8; 3]) -> Vec<u8> {
    encode(RgbImage::from_pixel(width, height, Rgb(value)), ImageFormat::Pnm)
}

fn folder(files: &[(&str, Vec<u8>)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

fn tar(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, &bytes[..]).unwrap();
    }
    tar.into_inner().unwrap()
}

fn table_of(any: AnyTable) -> Table<f32> {
    match any {
        AnyTable::F32(table) => table,
        AnyTable::F64(_) => panic!("pixels are f32"),
    }
}

fn values(table: &Table<f32>) -> &[f32] {
    match table.cells() {
        Cells::Dense(cells) => cells.values(),
        Cells::Sparse(_) => panic!("pictures are dense"),
    }
}

#[test]
fn folder_and_tar_give_the_same_table() {
    let files = [
        ("dogs/2.png", grey(2, 3, 9)),
        ("cats/1.ppm", colour(2, 3, [1, 2, 3])),
        ("cats/.hidden.png", grey(9, 9, 0)),
        ("cats/notes.txt", b"not a picture".to_vec()),
        ("dogs/1.png", grey(2, 3, 7)),
    ];
    let on_disk = folder(&files);
    let table = table_of(read(on_disk.path(), &ReadOptions::default()).unwrap());
    assert_eq!(table.about().picture, Some(Picture { height: 2, width: 3, channels: 3 }));
    assert_eq!(&values(&table)[..6], [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
    assert_eq!(&values(&table)[18..21], [7.0; 3]);
    let labels = table.about().labels.as_ref().unwrap();
    assert_eq!(labels.names, ["cats", "dogs"]);
    assert_eq!(labels.of_row, [Some(0), Some(1), Some(1)]);
    let packed = tar(&files);
    let unpacked = read_bytes(Kind::Images, &packed, &ReadOptions::default()).unwrap();
    assert_eq!(table_of(unpacked), table);
}

#[test]
fn grey_pictures_stay_grey_and_one_folder_is_no_label() {
    let table = table_of(
        read_bytes(Kind::Images, &tar(&[("all/a.png", grey(1, 2, 255))]), &ReadOptions::default())
            .unwrap(),
    );
    assert_eq!(table.about().picture, Some(Picture { height: 1, width: 2, channels: 1 }));
    assert_eq!(values(&table), [255.0, 255.0]);
    assert!(table.about().labels.is_none());
}

#[test]
fn deep_pictures_keep_their_fractions() {
    let deep = ImageBuffer::<Luma<u16>, _>::from_raw(2, 1, vec![0u16, 65_535]).unwrap();
    let bytes = encode(deep, ImageFormat::Png);
    let table = table_of(read_bytes(Kind::Images, &bytes, &ReadOptions::default()).unwrap());
    assert_eq!(values(&table), [0.0, 255.0]);
}

#[test]
fn sizes_must_agree_or_be_brought_together() {
    let on_disk = folder(&[("a.png", grey(2, 3, 9)), ("b.png", grey(4, 5, 9))]);
    let error = read(on_disk.path(), &ReadOptions::default()).unwrap_err().to_string();
    let (a, b) = (on_disk.path().join("a.png"), on_disk.path().join("b.png"));
    assert_eq!(
        error,
        format!(
            "{}: found a picture of 4 x 5 pixels, expected 2 x 3 as in {}; `--resize HxW` brings \
             pictures to one size",
            b.display(),
            a.display()
        )
    );
    let options = ReadOptions { resize: Some((1, 2)), ..ReadOptions::default() };
    let table = table_of(read(on_disk.path(), &options).unwrap());
    assert_eq!(values(&table), [9.0; 4]);
    let options = ReadOptions { resize: Some((0, 2)), ..ReadOptions::default() };
    assert!(read(on_disk.path(), &options).unwrap_err().to_string().starts_with("option `resize`"));
}

#[test]
fn a_folder_without_pictures_and_a_broken_picture_are_named() {
    let empty = folder(&[("a.txt", b"text".to_vec())]);
    let error = read(empty.path(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("{}: found no pictures", empty.path().display())),
        "{error}"
    );
    let mut cut = grey(8, 8, 3);
    cut.truncate(cut.len() / 2);
    let broken = folder(&[("a.png", grey(8, 8, 3)), ("b.png", cut)]);
    let error = read(broken.path(), &ReadOptions::default()).unwrap_err().to_string();
    let b = broken.path().join("b.png");
    assert!(error.starts_with(&b.display().to_string()), "{error}");
}

#[test]
fn a_picture_of_another_format_is_named_and_not_left_out() {
    let other = folder(&[("a.png", grey(1, 1, 3)), ("b.png", b"GIF89a\x01\0\x01\0".to_vec())]);
    let error = read(other.path(), &ReadOptions::default()).unwrap_err().to_string();
    let b = other.path().join("b.png");
    let expected = "found a Gif picture, expected PNG, JPEG, PNM or WebP; convert it";
    assert_eq!(error, format!("{}: {expected}", b.display()));
}

#[test]
fn a_header_cannot_ask_for_memory() {
    let read = |bytes: &[u8], options: &ReadOptions| {
        read_bytes(Kind::Images, bytes, options).unwrap_err().to_string()
    };
    let error = read(b"P6 20000 15000 255\n123", &ReadOptions::default());
    assert!(error.contains("a readable picture"), "{error}");
    let options = ReadOptions { most_bytes: Some(100), ..ReadOptions::default() };
    let error = read(&tar(&[("a.png", grey(5, 5, 0)), ("b.png", grey(5, 5, 0))]), &options);
    assert!(error.starts_with("b.png: found pictures of more than 100 bytes"), "{error}");
}
