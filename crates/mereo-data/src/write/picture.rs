//! Rows drawn as pictures.

use std::path::Path;

use image::{ExtendedColorType, ImageEncoder, codecs::png::PngEncoder};
use mereo_core::{Dense, Error, Picture, Real, Result, write_atomically};

/// The colour of a missing pixel: one that no grey picture has.
const MISSING: [u8; 3] = [255, 0, 255];
/// The colour between the pictures of a grid.
const GAP: [u8; 3] = [128, 128, 128];
/// Pixels up to which a picture is drawn.
const MOST_PIXELS: usize = 1 << 27;

/// Draws one row as a PNG, every pixel of it `scale` pixels wide and high.
///
/// Values from `range.0` to `range.1` go from dark to bright (without a range: from the
/// smallest to the largest value); missing pixels are magenta.
///
/// ```
/// use mereo_core::Picture;
/// let picture = Picture { height: 2, width: 2, channels: 1 };
/// let png = mereo_data::write::encode_png(&[0.0f32, 0.5, 1.0, f32::NAN], picture, None, 8)?;
/// assert_eq!(&png[1..4], b"PNG");
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn encode_png<T: Real>(
    pixels: &[T],
    picture: Picture,
    range: Option<(f64, f64)>,
    scale: usize,
) -> Result<Vec<u8>> {
    encode([pixels].into_iter(), picture, 1, range, scale)
}

/// Draws rows as a PNG of pictures side by side, `columns` of them beside each other, with a
/// grey line of one pixel between them and every pixel `scale` pixels wide and high.
///
/// The range of values is common to all pictures, so that they can be compared; see
/// [`encode_png`].
///
/// ```
/// use mereo_core::{Dense, Picture};
/// let faces = Dense::new(3, 4, vec![0.0f64; 12])?;
/// let picture = Picture { height: 2, width: 2, channels: 1 };
/// let png = mereo_data::write::encode_picture_grid(&faces, picture, 2, None, 4)?;
/// assert_eq!(&png[1..4], b"PNG");
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn encode_picture_grid<T: Real>(
    pictures: &Dense<T>,
    picture: Picture,
    columns: usize,
    range: Option<(f64, f64)>,
    scale: usize,
) -> Result<Vec<u8>> {
    encode((0..pictures.rows()).map(|row| pictures.row(row)), picture, columns, range, scale)
}

/// Writes what [`encode_picture_grid`] draws, a pixel for a pixel.
///
/// ```
/// use mereo_core::{Dense, Picture};
/// let faces = Dense::new(3, 4, vec![0.0f64; 12])?;
/// let picture = Picture { height: 2, width: 2, channels: 1 };
/// let folder = tempfile::tempdir().unwrap();
/// mereo_data::write::write_picture_grid(&folder.path().join("faces.png"), &faces, picture, 2, None)?;
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn write_picture_grid<T: Real>(
    path: &Path,
    pictures: &Dense<T>,
    picture: Picture,
    columns: usize,
    range: Option<(f64, f64)>,
) -> Result<()> {
    let png = encode_picture_grid(pictures, picture, columns, range, 1)?;
    write_atomically(path, |out| out.write_all(&png))
}

fn encode<'a, T: Real>(
    rows: impl ExactSizeIterator<Item = &'a [T]> + Clone,
    picture: Picture,
    columns: usize,
    range: Option<(f64, f64)>,
    scale: usize,
) -> Result<Vec<u8>> {
    if !matches!(picture.channels, 1 | 3) {
        let problem = format!("pictures have 1 or 3 channels, not {}", picture.channels);
        return Err(Error::option("picture", problem));
    }
    if rows.clone().any(|row| Some(row.len()) != picture.columns()) {
        let size = format!("{} x {} x {}", picture.height, picture.width, picture.channels);
        return Err(Error::option("picture", format!("the rows are no pictures of {size}")));
    }
    let mut canvas = Canvas::new(rows.len(), picture, columns, scale)?;
    let tone = Tone::new(range, rows.clone().flatten().map(|v| v.to_f64()))?;
    for (at, row) in rows.enumerate() {
        canvas.draw(at, picture, |pixel| {
            let cells = &row[pixel * picture.channels..(pixel + 1) * picture.channels];
            if cells.iter().any(|v| v.is_missing()) {
                MISSING
            } else {
                let of = |channel: usize| tone.of(cells[channel % picture.channels].to_f64());
                [of(0), of(1), of(2)]
            }
        });
    }
    canvas.encode(picture.channels == 1)
}

/// How values become brightness.
struct Tone {
    low: f64,
    high: f64,
}

impl Tone {
    fn new(range: Option<(f64, f64)>, values: impl Iterator<Item = f64>) -> Result<Self> {
        if let Some((low, high)) = range {
            if low < high && low.is_finite() && high.is_finite() {
                return Ok(Self { low, high });
            }
            let problem = format!("from {low} to {high} is no range; use two rising numbers");
            return Err(Error::option("range", problem));
        }
        let seen = values.filter(|v| v.is_finite()).fold(None, |seen: Option<(f64, f64)>, v| {
            seen.map_or(Some((v, v)), |(low, high)| Some((low.min(v), high.max(v))))
        });
        let (low, high) = seen.unwrap_or((0.0, 1.0));
        // Pictures of one value are drawn mid-grey.
        Ok(if low < high { Self { low, high } } else { Self { low: low - 1.0, high: high + 1.0 } })
    }

    fn of(&self, value: f64) -> u8 {
        // Halved, so that the widest range does not overflow.
        let part = (value / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0);
        (part.clamp(0.0, 1.0) * 255.0).round() as u8
    }
}

struct Canvas {
    width: usize,
    height: usize,
    columns: usize,
    scale: usize,
    pixels: Vec<[u8; 3]>,
}

impl Canvas {
    fn new(count: usize, picture: Picture, columns: usize, scale: usize) -> Result<Self> {
        let columns = columns.min(count);
        if columns == 0 || scale == 0 || picture.columns() == Some(0) {
            return Err(Error::option("columns", "there is no picture to draw"));
        }
        let lines = count.div_ceil(columns);
        // One pixel of gap after every picture but the last.
        let side = |pixels: usize, count: usize| {
            pixels.checked_mul(scale)?.checked_add(1)?.checked_mul(count).map(|n| n - 1)
        };
        side(picture.width, columns)
            .zip(side(picture.height, lines))
            .filter(|(width, height)| width.saturating_mul(*height) <= MOST_PIXELS)
            .map(|(width, height)| {
                let pixels = vec![GAP; width * height];
                Self { width, height, columns, scale, pixels }
            })
            .ok_or_else(|| {
                Error::option("columns", "the picture would be too large; draw fewer rows")
            })
    }

    fn draw(&mut self, at: usize, picture: Picture, colour: impl Fn(usize) -> [u8; 3]) {
        let top = at / self.columns * (picture.height * self.scale + 1);
        let left = at % self.columns * (picture.width * self.scale + 1);
        for y in 0..picture.height {
            for x in 0..picture.width {
                let colour = colour(y * picture.width + x);
                for line in 0..self.scale {
                    let start = (top + y * self.scale + line) * self.width + left + x * self.scale;
                    self.pixels[start..start + self.scale].fill(colour);
                }
            }
        }
    }

    fn encode(&self, grey: bool) -> Result<Vec<u8>> {
        let grey = grey && !self.pixels.contains(&MISSING);
        let (bytes, colours) = if grey {
            (self.pixels.iter().map(|p| p[0]).collect(), ExtendedColorType::L8)
        } else {
            (self.pixels.as_flattened().to_vec(), ExtendedColorType::Rgb8)
        };
        let mut png = Vec::new();
        PngEncoder::new(&mut png)
            .write_image(&bytes, self.width as u32, self.height as u32, colours)
            .map_err(|e| Error::option("picture", format!("it cannot be drawn: {e}")))?;
        Ok(png)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Picture = Picture { height: 1, width: 2, channels: 1 };

    fn pixels(png: &[u8]) -> image::RgbImage {
        image::load_from_memory(png).unwrap().to_rgb8()
    }

    #[test]
    fn a_grid_has_gaps_and_one_common_range() {
        let cells = Dense::new(3, 2, vec![0.0, 1.0, 2.0, 4.0, f64::NAN, 4.0]).unwrap();
        let drawn = pixels(&encode_picture_grid(&cells, SMALL, 2, None, 1).unwrap());
        assert_eq!(drawn.dimensions(), (5, 3));
        let line: Vec<u8> = (0..5).map(|x| drawn.get_pixel(x, 0).0[0]).collect();
        assert_eq!(line, [0, 64, 128, 128, 255]);
        assert_eq!(drawn.get_pixel(0, 2).0, MISSING);
        assert_eq!(drawn.get_pixel(3, 2).0, GAP);
    }

    #[test]
    fn scaling_repeats_pixels() {
        let drawn = pixels(&encode_png(&[0.0f32, 1.0], SMALL, Some((0.0, 2.0)), 3).unwrap());
        assert_eq!(drawn.dimensions(), (6, 3));
        assert_eq!((drawn.get_pixel(2, 2).0[0], drawn.get_pixel(3, 0).0[0]), (0, 128));
    }

    #[test]
    fn colours_and_flat_pictures_are_drawn() {
        let colour = Picture { height: 1, width: 1, channels: 3 };
        let drawn = pixels(&encode_png(&[0.0, 1.0, 0.5], colour, None, 1).unwrap());
        assert_eq!(drawn.get_pixel(0, 0).0, [0, 255, 128]);
        let drawn = pixels(&encode_png(&[7.0, 7.0], SMALL, None, 1).unwrap());
        assert_eq!(drawn.get_pixel(0, 0).0, [128; 3]);
    }

    #[test]
    fn what_cannot_be_drawn_is_an_error() {
        let two = Picture { height: 1, width: 1, channels: 2 };
        assert!(encode_png(&[0.0, 1.0], two, None, 1).is_err());
        assert!(encode_png(&[0.0], SMALL, None, 1).is_err());
        assert!(encode_png(&[0.0, 1.0], SMALL, None, 0).is_err());
        assert!(encode_png(&[0.0, 1.0], SMALL, None, usize::MAX).is_err());
        assert!(encode_png(&[0.0, 1.0], SMALL, Some((1.0, 1.0)), 1).is_err());
        let none = Dense::new(0, 2, Vec::<f32>::new()).unwrap();
        assert!(encode_picture_grid(&none, SMALL, 4, None, 1).is_err());
    }
}
