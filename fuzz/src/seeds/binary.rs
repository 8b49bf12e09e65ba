//! Arrays and pictures.

use std::io::{Cursor, Write};

use crate::mutate::{Random, mutate};

fn npy(descr: &str, fortran: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header =
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\0".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values);
    bytes
}

pub(super) fn npy_files() -> Vec<Vec<u8>> {
    let doubles: Vec<u8> = [0.5f64, 7.0, -3.0, 1e-9].iter().flat_map(|v| v.to_be_bytes()).collect();
    let mut files = streamable_npy_files();
    files.extend([
        npy(">f8", "True", "(2, 2)", &doubles),
        npy("|b1", "False", "(3,)", &[1, 0, 1]),
        npy("<i8", "False", "(1, 2)", &[9; 16]),
    ]);
    files
}

/// Those that can be streamed.
pub(super) fn streamable_npy_files() -> Vec<Vec<u8>> {
    let floats: Vec<u8> =
        [0.5f32, f32::NAN, -3.0, 1e9].iter().flat_map(|v| v.to_le_bytes()).collect();
    vec![
        npy("<f4", "False", "(2, 1, 2)", &floats),
        npy("<f8", "False", "(2, 1)", &[7; 16]),
        npy("|u1", "False", "(2, 3)", &[1, 2, 3, 4, 5, 6]),
    ]
}

/// Arrays as scipy stores a sparse matrix in each of its formats, and as one stores rows with labels.
fn arrays() -> Vec<Vec<(&'static str, Vec<u8>)>> {
    let numbers = |values: &[u32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let list =
        |values: &[u32]| npy("<i4", "False", &format!("({},)", values.len()), &numbers(values));
    let sparse = |format: &[u8], data: Vec<u8>, rest: Vec<(&'static str, Vec<u8>)>| {
        let shape = [2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0];
        let head = vec![
            ("data", data),
            ("shape", npy("<i8", "False", "(2,)", &shape)),
            ("format", npy("|S3", "False", "()", format)),
        ];
        [head, rest].concat()
    };
    let three = || npy("|u1", "False", "(3,)", &[5, 6, 7]);
    vec![
        sparse(b"csr", three(), vec![("indices", list(&[0, 2, 1])), ("indptr", list(&[0, 2, 3]))]),
        sparse(
            b"csc",
            three(),
            vec![("indices", list(&[0, 1, 1])), ("indptr", list(&[0, 1, 2, 3]))],
        ),
        sparse(b"coo", three(), vec![("row", list(&[0, 1, 1])), ("col", list(&[2, 0, 0]))]),
        sparse(
            b"bsr",
            npy("|u1", "False", "(2, 1, 3)", &[5, 6, 7, 8, 9, 0]),
            vec![("indices", list(&[0, 0])), ("indptr", list(&[0, 1, 2]))],
        ),
        sparse(
            b"dia",
            npy("|u1", "False", "(2, 3)", &[5, 6, 7, 8, 9, 1]),
            vec![("offsets", list(&[0, u32::MAX]))],
        ),
        vec![
            ("x", npy("<f4", "False", "(2, 2)", &[0; 16])),
            ("y", npy("<U1", "False", "(2,)", &numbers(&[97, 98]))),
        ],
    ]
}

fn zip(files: &[(&str, Vec<u8>)], packed: bool) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let method =
        if packed { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in files {
        let name = if name.contains('.') { (*name).to_owned() } else { format!("{name}.npy") };
        zip.start_file(name, options).expect("writing to memory");
        zip.write_all(bytes).expect("writing to memory");
    }
    zip.finish().expect("writing to memory").into_inner()
}

pub(super) fn npz_files() -> Vec<Vec<u8>> {
    arrays().iter().flat_map(|arrays| [zip(arrays, false), zip(arrays, true)]).collect()
}

/// An npz that is a sound zip of unsound arrays.
pub(super) fn changed_npz(random: &mut Random) -> Vec<u8> {
    let mut arrays = random.choose(&arrays()).clone();
    let others: Vec<Vec<u8>> = arrays.iter().map(|(_, bytes)| bytes.clone()).collect();
    let which = random.below(arrays.len());
    mutate(&mut arrays[which].1, &others, random);
    zip(&arrays, random.one_in(2))
}

/// What a small workbook holds: the least that a reader asks for.
fn workbook() -> Vec<(&'static str, Vec<u8>)> {
    const XML: &str = "<?xml version=\"1.0\"?>";
    const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
    let text = |text: String| format!("{XML}{text}").into_bytes();
    vec![
        ("[Content_Types].xml", text(format!("<Types xmlns=\"{PACKAGE}/content-types\"/>"))),
        (
            "_rels/.rels",
            text(format!(
                "<Relationships xmlns=\"{PACKAGE}/relationships\"><Relationship Id=\"r1\" \
                 Type=\"{OFFICE}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
            )),
        ),
        (
            "xl/workbook.xml",
            text(format!(
                "<workbook xmlns=\"{MAIN}\" xmlns:r=\"{OFFICE}\"><sheets><sheet name=\"s\" \
                 sheetId=\"1\" r:id=\"r1\"/></sheets></workbook>"
            )),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            text(format!(
                "<Relationships xmlns=\"{PACKAGE}/relationships\"><Relationship Id=\"r1\" \
                 Type=\"{OFFICE}/worksheet\" Target=\"worksheets/sheet1.xml\"/></Relationships>"
            )),
        ),
        (
            "xl/worksheets/sheet1.xml",
            text(format!(
                "<worksheet xmlns=\"{MAIN}\"><dimension ref=\"A1:B3\"/><sheetData>\
                 <row r=\"1\"><c r=\"A1\" t=\"str\"><v>x</v></c><c r=\"B1\" t=\"str\"><v>word</v></c></row>\
                 <row r=\"2\"><c r=\"A2\"><v>1.5</v></c><c r=\"B2\" t=\"str\"><v>red</v></c></row>\
                 <row r=\"3\"><c r=\"A3\"><v>2</v></c><c r=\"B3\" t=\"b\"><v>1</v></c></row>\
                 </sheetData></worksheet>"
            )),
        ),
    ]
}

pub(super) fn workbooks() -> Vec<Vec<u8>> {
    vec![zip(&workbook(), false), zip(&workbook(), true)]
}

/// A workbook that is a sound zip of unsound sheets.
pub(super) fn changed_workbook(random: &mut Random) -> Vec<u8> {
    let mut files = workbook();
    let others: Vec<Vec<u8>> = files.iter().map(|(_, bytes)| bytes.clone()).collect();
    let which = random.below(files.len());
    mutate(&mut files[which].1, &others, random);
    zip(&files, random.one_in(2))
}

pub(super) fn idx_files() -> Vec<Vec<u8>> {
    let doubles: Vec<u8> = [1.0f64, -2.5].iter().flat_map(|v| v.to_be_bytes()).collect();
    vec![
        vec![0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4],
        [vec![0, 0, 0x0e, 2, 0, 0, 0, 1, 0, 0, 0, 2], doubles].concat(),
        vec![0, 0, 0x0b, 1, 0, 0, 0, 2, 0, 1, 0xff, 0xfe],
    ]
}

/// Pictures of each format, grey and coloured, and a tar of pictures of one size.
pub(super) fn pictures() -> Vec<Vec<u8>> {
    let colour = image::RgbImage::from_fn(9, 7, |x, y| image::Rgb([x as u8 * 20, y as u8 * 30, 5]));
    let grey = image::GrayImage::from_fn(9, 7, |x, y| image::Luma([(x * y) as u8]));
    let mut files = Vec::new();
    for format in [image::ImageFormat::Png, image::ImageFormat::Jpeg, image::ImageFormat::Pnm] {
        for picture in [image::DynamicImage::from(colour.clone()), grey.clone().into()] {
            let mut bytes = Cursor::new(Vec::new());
            picture.write_to(&mut bytes, format).expect("writing to memory");
            files.push(bytes.into_inner());
        }
    }
    files.push(b"P2 2 2 255 1 2 3 4".to_vec());
    let greys: Vec<Vec<u8>> = [1, 3, 5].map(|i| files[i].clone()).to_vec();
    files.push(tar(&greys));
    files
}

/// Pictures of labels: with a palette, and grey.
pub(super) fn label_pictures() -> Vec<Vec<u8>> {
    let bytes = (0..63).map(|i| i % 5).collect();
    let labels = mereo_data::Pixels { height: 7, width: 9, channels: 1, bytes };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("labels.png");
    mereo_data::write::write_labels(&path, &labels).expect("writing labels");
    let mut files = vec![std::fs::read(&path).expect("reading it back")];
    // Pictures whose colours are no labels are hostile enough without being changed.
    let sound = |bytes: &Vec<u8>| {
        mereo_data::Pixels::labels_from_bytes(bytes, std::path::Path::new("some.png")).is_ok()
    };
    files.extend(pictures().into_iter().filter(sound));
    files
}

fn tar(pictures: &[Vec<u8>]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (index, bytes) in pictures.iter().enumerate() {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        tar.append_data(&mut header, format!("{}/{index}.png", index % 2), &bytes[..])
            .expect("writing to memory");
    }
    tar.into_inner().expect("writing to memory")
}

/// A sound tar of unsound pictures.
pub(super) fn changed_tar(pictures: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut chosen: Vec<Vec<u8>> =
        (0..=random.below(3)).map(|_| random.choose(pictures).clone()).collect();
    mutate(&mut chosen[0], pictures, random);
    tar(&chosen)
}
