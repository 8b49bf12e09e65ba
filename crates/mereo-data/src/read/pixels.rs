//! One picture as bytes, and pictures whose values are labels.

use std::io::Cursor;
use std::path::Path;

use image::{DynamicImage, ImageFormat};
use mereo_core::{Error, Place, Result};

use super::images;

/// A picture of bytes, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels {
    /// Its height.
    pub height: usize,
    /// Its width.
    pub width: usize,
    /// 1 for grey, 3 for colour.
    pub channels: usize,
    /// `[height, width, channels]`.
    pub bytes: Vec<u8>,
}

/// Reads one picture (PNG, JPEG, PNM or WebP) with 8 bits a channel; transparency is dropped.
///
/// ```
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("a.pgm");
/// std::fs::write(&path, b"P5 2 1 255\n\x00\xff").unwrap();
/// let picture = mereo_data::read_pixels(&path)?;
/// assert_eq!((picture.height, picture.width, picture.bytes), (1, 2, vec![0, 255]));
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn read_pixels(path: &Path) -> Result<Pixels> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    Pixels::from_bytes(&bytes, path)
}

impl Pixels {
    /// As [`read_pixels`], of a file's bytes; `path` is what errors call it.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self> {
        let (image, _) = images::decode_any(bytes).map_err(|e| e.in_file(path))?;
        Ok(pixels(&image))
    }

    /// As [`read_labels`], of a file's bytes; `path` is what errors call it.
    pub fn labels_from_bytes(bytes: &[u8], path: &Path) -> Result<Self> {
        labels(bytes, path)
    }
}

fn pixels(image: &DynamicImage) -> Pixels {
    let (height, width) = (image.height() as usize, image.width() as usize);
    if image.color().has_color() {
        Pixels { height, width, channels: 3, bytes: image.to_rgb8().into_raw() }
    } else {
        Pixels { height, width, channels: 1, bytes: image.to_luma8().into_raw() }
    }
}

/// Reads a picture whose values are labels: the numbers of a palette, or grey levels. Colours that are
/// all grey count as grey.
///
/// ```
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("labels.png");
/// let labels = mereo_data::Pixels { height: 1, width: 3, channels: 1, bytes: vec![0, 2, 1] };
/// mereo_data::write::write_labels(&path, &labels)?;
/// assert_eq!(mereo_data::read_labels(&path)?, labels);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn read_labels(path: &Path) -> Result<Pixels> {
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    Pixels::labels_from_bytes(&bytes, path)
}

fn labels(bytes: &[u8], path: &Path) -> Result<Pixels> {
    let (image, format) = images::decode_any(bytes).map_err(|e| e.in_file(path))?;
    let (height, width) = (image.height() as usize, image.width() as usize);
    // The picture was decoded, so its size is no lie.
    if format == ImageFormat::Png
        && let Some(bytes) = palette(bytes, height, width)
    {
        return Ok(Pixels { height, width, channels: 1, bytes });
    }
    let seen = pixels(&image);
    if seen.channels == 1 {
        return Ok(seen);
    }
    let mut bytes = Vec::with_capacity(height * width);
    for (at, pixel) in seen.bytes.chunks_exact(3).enumerate() {
        if pixel[0] != pixel[1] || pixel[1] != pixel[2] {
            let found =
                format!("the colour {pixel:?} at row {}, column {}", at / width, at % width);
            let expected = "a picture of labels: a palette or grey levels, saved without loss";
            return Err(Error::found(Place::file(path), found, expected));
        }
        bytes.push(pixel[0]);
    }
    Ok(Pixels { height, width, channels: 1, bytes })
}

/// The numbers of a PNG's palette, or its grey levels below 8 bits as they stand; none if it has neither.
fn palette(bytes: &[u8], height: usize, width: usize) -> Option<Vec<u8>> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::IDENTITY);
    let mut reader = decoder.read_info().ok()?;
    let (colour, depth) = reader.output_color_type();
    let bits = match (colour, depth) {
        (png::ColorType::Indexed, depth) => depth as usize,
        (png::ColorType::Grayscale, png::BitDepth::Two | png::BitDepth::Four) => depth as usize,
        _ => return None,
    };
    let mut packed = vec![0; reader.output_buffer_size()?];
    reader.next_frame(&mut packed).ok()?;
    let line = (width * bits).div_ceil(8);
    if packed.len() < line * height || line == 0 {
        return None;
    }
    let mask = ((1u16 << bits) - 1) as u8;
    let numbers = packed.chunks_exact(line).take(height).flat_map(|row| {
        (0..width).map(move |x| {
            let bit = x * bits;
            (row[bit / 8] >> (8 - bits - bit % 8)) & mask
        })
    });
    Some(numbers.collect())
}
