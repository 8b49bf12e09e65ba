//! Pictures of bytes, as they are.

use std::path::Path;

use mereo_core::{Error, Result, write_atomically};

use crate::Pixels;

/// Colours of labels 1, 2, ...: far apart, and none black.
const COLOURS: [[u8; 3]; 12] = [
    [240, 240, 240],
    [40, 70, 120],
    [230, 120, 40],
    [60, 160, 90],
    [200, 50, 70],
    [140, 100, 190],
    [150, 100, 70],
    [230, 150, 200],
    [190, 190, 60],
    [60, 190, 200],
    [110, 110, 110],
    [120, 200, 150],
];

/// Writes a picture of 1 (grey), 3 (colour) or 4 channels (colour and how opaque it is) as PNG.
///
/// ```
/// let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("a.png");
/// let picture = mereo_data::Pixels { height: 1, width: 2, channels: 1, bytes: vec![7, 200] };
/// mereo_data::write::write_pixels(&path, &picture)?;
/// assert_eq!(mereo_data::read_pixels(&path)?, picture);
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn write_pixels(path: &Path, picture: &Pixels) -> Result<()> {
    let colour = match picture.channels {
        1 => png::ColorType::Grayscale,
        3 => png::ColorType::Rgb,
        4 => png::ColorType::Rgba,
        n => {
            return Err(Error::option("picture", format!("{n} channels cannot be written as PNG")));
        }
    };
    encode(path, picture, colour, None)
}

/// Writes a picture of labels as PNG with a palette: its numbers are the labels, and colours tell them
/// apart. 0 is black.
pub fn write_labels(path: &Path, labels: &Pixels) -> Result<()> {
    let most = labels.bytes.iter().copied().max().unwrap_or(0);
    let mut palette = vec![0, 0, 0];
    for label in 0..usize::from(most) {
        palette.extend(COLOURS[label % COLOURS.len()]);
    }
    encode(path, labels, png::ColorType::Indexed, Some(palette))
}

fn encode(
    path: &Path,
    picture: &Pixels,
    colour: png::ColorType,
    palette: Option<Vec<u8>>,
) -> Result<()> {
    let side = |length: usize| {
        u32::try_from(length).map_err(|_| Error::option("picture", "too large to be written"))
    };
    let (width, height) = (side(picture.width)?, side(picture.height)?);
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(colour);
    encoder.set_depth(png::BitDepth::Eight);
    if let Some(palette) = palette {
        encoder.set_palette(palette);
    }
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&picture.bytes))
        .map_err(|e| Error::option("picture", e))?;
    write_atomically(path, |out| out.write_all(&bytes))
}
