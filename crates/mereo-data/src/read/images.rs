//! Pictures: a folder of them, a tar of them, or a single one; PNG, JPEG, PNM and WebP.
//!
//! A row is a picture, its pixels row by row from 0 (black) to 255 (white). Pictures are colour
//! (three channels) if any of them is, and grey (one channel) otherwise; transparency is dropped.
//! They come in the order of their names. Pictures from two or more folders have their folder's
//! name as label. Hidden files and files that are not pictures are passed over; a picture of a
//! format that cannot be read is an error, for it is surely meant to be in the table.

use std::fs::{self, File};
use std::io::{BufRead, Cursor, Read};
use std::path::{Path, PathBuf};

use image::{DynamicImage, GenericImageView, ImageFormat, ImageReader, Limits};
use mereo_core::{Dense, Error, Labels, Picture, Place, Result, Table};

use super::input::{most_bytes, unreadable};
use super::{Input, ReadOptions};

/// Enough of a file to see whether it is a picture.
const MAGIC_BYTES: u64 = 16;

/// A picture that takes more than this is refused.
const MOST_PICTURE_BYTES: u64 = 1 << 28;

/// Whether data that starts like this is a picture or a tar.
pub(crate) fn looks_like(bytes: &[u8]) -> bool {
    format_of(bytes).is_some() || is_tar(bytes)
}

fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

/// The format of a picture that starts like this, be it one that can be read or not. Formats
/// with short magics must show more than those, for a table may start with `P1` or `BMI` too.
fn format_of(bytes: &[u8]) -> Option<ImageFormat> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some(ImageFormat::Png),
        [0xff, 0xd8, 0xff, ..] => Some(ImageFormat::Jpeg),
        [b'P', b'1'..=b'6', b' ' | b'\t' | b'\r' | b'\n', b'0'..=b'9' | b'#', ..]
        | [b'P', b'7', b'\n', ..] => Some(ImageFormat::Pnm),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(ImageFormat::WebP),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(ImageFormat::Gif),
        [b'I', b'I', b'*', 0, ..] | [b'M', b'M', 0, b'*', ..] => Some(ImageFormat::Tiff),
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => Some(ImageFormat::Bmp),
        _ => None,
    }
}

/// Reads the pictures of a folder and of the folders in it.
pub(super) fn read_folder(folder: &Path, options: &ReadOptions) -> Result<Table<f32>> {
    let mut gallery = Gallery::new(options)?;
    gallery.take_folder(folder)?;
    gallery.into_table()
}

/// A picture's name, shape and grey pixels.
type Grey = (PathBuf, Picture, Vec<u8>);

/// As [`read_folder`], pictures of any sizes, in grey.
pub(super) fn grey_folder(folder: &Path, options: &ReadOptions) -> Result<Vec<Grey>> {
    let mut gallery = Gallery { as_grey: true, ..Gallery::new(options)? };
    gallery.take_folder(folder)?;
    gallery.into_grey()
}

/// As [`parse`], pictures of any sizes, in grey.
pub(super) fn grey(input: Input<'_>, path: &Path, options: &ReadOptions) -> Result<Vec<Grey>> {
    let mut gallery = Gallery { as_grey: true, ..Gallery::new(options)? };
    gallery.take_input(input, Some(path))?;
    gallery.into_grey()
}

/// What a folder holds, hidden files left out.
fn visible(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let entries = entries.map_err(|e| Error::io(folder, e))?;
    Ok(entries.iter().map(fs::DirEntry::path).filter(|path| !is_hidden(path)).collect())
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Reads the pictures of a tar, or a single picture.
pub(super) fn parse(
    input: Input<'_>,
    path: Option<&Path>,
    options: &ReadOptions,
) -> Result<Table<f32>> {
    let mut gallery = Gallery::new(options)?;
    gallery.take_input(input, path)?;
    gallery.into_table()
}

fn read_tar(reader: impl BufRead, gallery: &mut Gallery) -> Result<()> {
    let mut archive = tar::Archive::new(reader);
    for entry in archive.entries().map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path().map_err(unreadable)?.into_owned();
        // Sparse entries are no plain files: their holes would unpack to any size.
        if entry.header().entry_type().is_file() && !is_hidden(&path) {
            let class = path.parent().map(Path::to_path_buf);
            gallery.take(entry, path, class)?;
        }
    }
    Ok(())
}

/// One picture, decoded.
struct Shot {
    path: PathBuf,
    /// The folder that it came from, if that tells it from others.
    class: Option<PathBuf>,
    picture: Picture,
    pixels: Vec<f32>,
}

/// Pictures on their way into a table.
struct Gallery {
    shots: Vec<Shot>,
    /// Height and width.
    resize: Option<(u32, u32)>,
    /// Bytes that further pixels may take.
    left: u64,
    most_bytes: u64,
    /// Whether pictures are kept in grey alone.
    as_grey: bool,
}

impl Gallery {
    fn new(options: &ReadOptions) -> Result<Self> {
        const MOST_SIDE: usize = 1 << 14;
        let side = |n: usize| u32::try_from(n).ok().filter(|_| (1..=MOST_SIDE).contains(&n));
        let resize = match options.resize {
            None => None,
            Some((height, width)) => Some(side(height).zip(side(width)).ok_or_else(|| {
                let problem = format!("{height} x {width} is not between 1 and {MOST_SIDE} a side");
                Error::option("resize", problem)
            })?),
        };
        let most_bytes = most_bytes(options);
        Ok(Self { shots: Vec::new(), resize, left: most_bytes, most_bytes, as_grey: false })
    }

    fn take_folder(&mut self, folder: &Path) -> Result<()> {
        let mut files = Vec::new();
        for path in visible(folder)? {
            if path.is_dir() {
                files.extend(visible(&path)?.into_iter().filter(|p| p.is_file()));
            } else if path.is_file() {
                files.push(path);
            }
        }
        for path in files {
            let file = File::open(&path).map_err(|e| Error::io(&path, e))?;
            let class = path.parent().filter(|parent| *parent != folder).map(Path::to_path_buf);
            self.take(file, path, class)?;
        }
        Ok(())
    }

    fn take_input(&mut self, input: Input<'_>, path: Option<&Path>) -> Result<()> {
        if is_tar(&input.sample().bytes) {
            return read_tar(input.into_reader(), self);
        }
        let name = path.map(Path::to_path_buf).unwrap_or_default();
        self.take(input.into_reader(), name, None)
    }

    /// The pictures in grey, in the order of their names.
    fn into_grey(mut self) -> Result<Vec<Grey>> {
        self.shots.sort_by(|a, b| a.path.cmp(&b.path));
        if self.shots.is_empty() {
            let expected = "PNG, JPEG, PNM or WebP pictures";
            return Err(Error::found(Place::default(), "no pictures", expected));
        }
        let grey = |shot: Shot| {
            let pixels = shot.pixels.iter().map(|p| p.round() as u8).collect();
            (shot.path, shot.picture, pixels)
        };
        Ok(self.shots.into_iter().map(grey).collect())
    }

    /// Takes a file in if it is a picture.
    fn take(&mut self, mut file: impl Read, path: PathBuf, class: Option<PathBuf>) -> Result<()> {
        let in_file = |e: Error| e.in_file(&path);
        let mut bytes = Vec::new();
        let mut read = |most: u64, bytes: &mut Vec<u8>| {
            file.by_ref().take(most).read_to_end(bytes).map_err(unreadable).map_err(in_file)
        };
        read(MAGIC_BYTES, &mut bytes)?;
        let Some(format) = format_of(&bytes) else { return Ok(()) };
        read(MOST_PICTURE_BYTES, &mut bytes)?;
        let image = decode(&bytes, format).map_err(in_file)?;
        let image = match self.resize {
            Some((height, width)) if image.dimensions() != (width, height) => {
                image.resize_exact(width, height, image::imageops::FilterType::Triangle)
            }
            _ => image,
        };
        let (picture, pixels) = pixels(&image);
        let (picture, pixels) =
            if self.as_grey { in_grey(picture, pixels) } else { (picture, pixels) };
        self.left = self.left.checked_sub(4 * pixels.len() as u64).ok_or_else(|| {
            Error::found(
                Place::file(&path),
                format!("pictures of more than {} bytes together", self.most_bytes),
                "fewer pictures, or smaller ones by `--resize HxW`",
            )
        })?;
        self.shots.push(Shot { path, class, picture, pixels });
        Ok(())
    }

    fn into_table(mut self) -> Result<Table<f32>> {
        self.shots.sort_by(|a, b| a.path.cmp(&b.path));
        let Some(first) = self.shots.first() else {
            let expected = "PNG, JPEG, PNM or WebP pictures; to read other data name its file";
            return Err(Error::found(Place::default(), "no pictures", expected));
        };
        let Picture { height, width, .. } = first.picture;
        let size = |p: Picture| (p.height, p.width);
        if let Some(other) = self.shots.iter().find(|shot| size(shot.picture) != (height, width)) {
            return Err(Error::found(
                Place::file(&other.path),
                format!("a picture of {} x {} pixels", other.picture.height, other.picture.width),
                format!(
                    "{height} x {width} as in {}; `--resize HxW` brings pictures to one size",
                    first.path.display()
                ),
            ));
        }
        let channels = self.shots.iter().map(|shot| shot.picture.channels).max().unwrap_or(1);
        let picture = Picture { height, width, channels };
        let labels = labels(&self.shots);
        let rows = self.shots.len();
        let columns = picture.columns().unwrap_or(0);
        let mut values = Vec::with_capacity(rows.saturating_mul(columns));
        for shot in self.shots {
            if shot.picture.channels == channels {
                values.extend(shot.pixels);
            } else {
                values.extend(shot.pixels.iter().flat_map(|&grey| [grey; 3]));
            }
        }
        let mut table = Table::from(Dense::new(rows, columns, values)?).with_picture(picture)?;
        if let Some(labels) = labels {
            table = table.with_labels(labels)?;
        }
        Ok(table)
    }
}

/// Folder names as labels, if there are two or more: a single one tells nothing.
fn labels(shots: &[Shot]) -> Option<Labels> {
    let folder = |shot: &Shot| {
        let name = shot.class.as_ref().and_then(|class| class.file_name());
        name.map(|name| name.to_string_lossy().into_owned())
    };
    let labels = Labels::from_texts(shots.iter().map(folder));
    (labels.names.len() > 1).then_some(labels)
}

/// A picture of any format that can be read, and which it is.
pub(super) fn decode_any(bytes: &[u8]) -> Result<(DynamicImage, ImageFormat)> {
    let format = format_of(bytes)
        .ok_or_else(|| Error::found(Place::default(), "no picture", "PNG, JPEG, PNM or WebP"))?;
    Ok((decode(bytes, format)?, format))
}

fn decode(bytes: &[u8], format: ImageFormat) -> Result<DynamicImage> {
    if !format.reading_enabled() {
        let found = format!("a {format:?} picture");
        return Err(Error::found(Place::default(), found, "PNG, JPEG, PNM or WebP; convert it"));
    }
    // Memory in proportion to the file, for pictures that pack well are small: a header alone
    // must not be able to ask for a gigabyte.
    let most = (64 << 20) + 2048 * bytes.len() as u64;
    let mut limits = Limits::default();
    limits.max_alloc = Some(most.min(MOST_PICTURE_BYTES));
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    let broken = |e: image::ImageError| Error::found(Place::default(), e, "a readable picture");
    let image = reader.decode().map_err(broken)?;
    if image.width() == 0 || image.height() == 0 {
        let found = format!("a picture of {} x {} pixels", image.height(), image.width());
        return Err(Error::found(Place::default(), found, "at least one pixel"));
    }
    Ok(image)
}

/// The pixels on a scale from 0 to 255; deeper pictures have fractions.
fn pixels(image: &DynamicImage) -> (Picture, Vec<f32>) {
    let color = image.color();
    let deep = color.bits_per_pixel() / u16::from(color.channel_count()) > 8;
    let narrow = |values: Vec<u8>| values.into_iter().map(f32::from).collect();
    let wide = |values: Vec<u16>| values.into_iter().map(|v| f32::from(v) / 257.0).collect();
    let pixels = match (color.has_color(), deep) {
        (false, false) => narrow(image.to_luma8().into_raw()),
        (false, true) => wide(image.to_luma16().into_raw()),
        (true, false) => narrow(image.to_rgb8().into_raw()),
        (true, true) => wide(image.to_rgb16().into_raw()),
    };
    let channels = if color.has_color() { 3 } else { 1 };
    let (width, height) = (image.width() as usize, image.height() as usize);
    (Picture { height, width, channels }, pixels)
}

/// How bright colours look (the weights of ITU-R BT.601).
fn in_grey(picture: Picture, pixels: Vec<f32>) -> (Picture, Vec<f32>) {
    if picture.channels != 3 {
        return (picture, pixels);
    }
    let bright = |c: &[f32; 3]| 0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2];
    let grey = pixels.as_chunks::<3>().0.iter().map(bright).collect();
    (Picture { channels: 1, ..picture }, grey)
}

#[cfg(test)]
#[path = "images_tests.rs"]
mod tests;
