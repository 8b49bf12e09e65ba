//! Rows as pictures: PNG data URIs, small enough for a page.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};
use mereo_core::Picture;

/// Longest side of a picture on the page, in pixels of its own; larger ones are averaged down.
const SIDE: usize = 96;

/// The values that black and white stand for, shared by all pictures of a page so that they can
/// be compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Scale {
    /// The scale that shows nearly all of these values: the outermost thousandth may saturate, so
    /// that one wild value does not flatten everything else.
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
        if values.is_empty() {
            return Self { low: 0.0, high: 1.0 };
        }
        let aside = values.len() / 1000;
        let last = values.len() - 1;
        let (_, low, _) = values.select_nth_unstable_by(aside, f64::total_cmp);
        let low = *low;
        let (_, high, _) = values.select_nth_unstable_by(last - aside, f64::total_cmp);
        Self { low, high: *high }
    }

    /// Where a value stands between black (0) and white (255).
    fn level(self, value: f64) -> u8 {
        // Halves, so that the widest ranges do not overflow.
        let span = self.high / 2.0 - self.low / 2.0;
        let share = if span > 0.0 { (value / 2.0 - self.low / 2.0) / span } else { 0.5 };
        (share.clamp(0.0, 1.0) * 255.0).round() as u8
    }
}

/// How rows are laid out as pictures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Canvas {
    picture: Picture,
    /// Cells of a row: one a pixel and channel, or without the last pixel of a grey patch whose
    /// mean was taken off.
    columns: usize,
    step: usize,
    height: usize,
    width: usize,
}

impl Canvas {
    /// A canvas, if rows of this many columns are pictures that can be drawn.
    pub(crate) fn new(picture: Picture, columns: usize) -> Option<Self> {
        let fits = picture.columns().is_some_and(|cells| {
            cells == columns || (picture.channels == 1 && cells == columns.saturating_add(1))
        });
        let drawable = matches!(picture.channels, 1 | 3) && columns > 0 && fits;
        let step = picture.height.max(picture.width).div_ceil(SIDE).max(1);
        let (height, width) = (picture.height.div_ceil(step), picture.width.div_ceil(step));
        drawable.then_some(Self { picture, columns, step, height, width })
    }

    /// Pixels that rows have cells of.
    fn known(&self) -> usize {
        self.columns / self.picture.channels
    }

    pub(crate) fn channels(&self) -> usize {
        self.picture.channels
    }

    /// "32 × 24 pixels", width first as people say it.
    pub(crate) fn size(&self) -> String {
        let colour = if self.picture.channels == 3 { " in colour" } else { "" };
        format!("{}\u{a0}×\u{a0}{} pixels{colour}", self.picture.width, self.picture.height)
    }

    /// Width by height, kept from extremes that no layout survives.
    pub(crate) fn aspect(&self) -> f64 {
        (self.width as f64 / self.height as f64).clamp(0.3, 3.0)
    }

    /// The pixels of the picture that one drawn pixel stands for.
    fn sources(&self, y: usize, x: usize) -> impl Iterator<Item = usize> + '_ {
        let rows = y * self.step..((y + 1) * self.step).min(self.picture.height);
        rows.flat_map(move |row| {
            let across = x * self.step..((x + 1) * self.step).min(self.picture.width);
            across.map(move |column| row * self.picture.width + column)
        })
    }

    /// The mean of some finite values over the pixels that one drawn pixel stands for.
    fn average(&self, y: usize, x: usize, value: impl Fn(usize) -> f64) -> Option<f64> {
        let (sum, n) = self
            .sources(y, x)
            .map(value)
            .filter(|v| v.is_finite())
            .fold((0.0, 0.0), |(sum, n), v| (sum + v, n + 1.0));
        (n > 0.0).then(|| sum / n).filter(|v| v.is_finite())
    }

    /// A row as a picture; missing pixels are transparent.
    pub(crate) fn values(&self, row: &[f64], scale: Scale) -> Option<String> {
        let channels = self.picture.channels;
        if row.len() != self.columns {
            return None;
        }
        // Pixels of a patch add up to 0.
        let last = -row.iter().sum::<f64>();
        let cell = |at: usize| row.get(at).copied().unwrap_or(last);
        let mut bytes = Vec::with_capacity(self.height * self.width * (channels + 1));
        let mut opaque = true;
        for (y, x) in self.places() {
            let colour: Vec<Option<f64>> = (0..channels)
                .map(|c| self.average(y, x, |pixel| cell(pixel * channels + c)))
                .collect();
            let seen = colour.iter().any(Option::is_some);
            opaque &= seen;
            bytes.extend(colour.iter().map(|v| v.map_or(0, |v| scale.level(v))));
            bytes.push(if seen { 255 } else { 0 });
        }
        if opaque {
            let stride = channels + 1;
            let bytes: Vec<u8> =
                bytes.chunks(stride).flat_map(|p| p[..channels].iter().copied()).collect();
            let kind = if channels == 1 { ExtendedColorType::L8 } else { ExtendedColorType::Rgb8 };
            return self.encode(&bytes, kind);
        }
        let kind = if channels == 1 { ExtendedColorType::La8 } else { ExtendedColorType::Rgba8 };
        self.encode(&bytes, kind)
    }

    /// A picture in one colour, as strong as `strength` says of each pixel.
    pub(crate) fn mask(&self, colour: [u8; 3], strength: impl Fn(usize) -> f64) -> Option<String> {
        let mut bytes = Vec::with_capacity(self.height * self.width * 4);
        for (y, x) in self.places() {
            let known =
                |pixel: usize| if pixel < self.known() { strength(pixel) } else { f64::NAN };
            let strength = self.average(y, x, known).unwrap_or(0.0);
            bytes.extend(colour);
            bytes.push((strength.clamp(0.0, 1.0) * 255.0).round() as u8);
        }
        self.encode(&bytes, ExtendedColorType::Rgba8)
    }

    /// A picture with a colour and strength of its own at each pixel.
    pub(crate) fn map(&self, at: impl Fn(usize) -> ([u8; 3], f64)) -> Option<String> {
        let mut bytes = Vec::with_capacity(self.height * self.width * 4);
        for (y, x) in self.places() {
            let known = self.sources(y, x).find(|&pixel| pixel < self.known());
            let (colour, strength) = known.map_or(([0; 3], 0.0), &at);
            let strength = if strength.is_finite() { strength.clamp(0.0, 1.0) } else { 0.0 };
            bytes.extend(colour);
            bytes.push((strength * 255.0).round() as u8);
        }
        self.encode(&bytes, ExtendedColorType::Rgba8)
    }

    fn places(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let width = self.width;
        (0..self.height).flat_map(move |y| (0..width).map(move |x| (y, x)))
    }

    /// A PNG as a data URI; nothing if it cannot be made.
    fn encode(&self, bytes: &[u8], kind: ExtendedColorType) -> Option<String> {
        let mut png = Vec::new();
        PngEncoder::new_with_quality(&mut png, CompressionType::Best, FilterType::Adaptive)
            .write_image(bytes, self.width as u32, self.height as u32, kind)
            .ok()?;
        Some(format!("data:image/png;base64,{}", STANDARD.encode(png)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(uri: &str) -> image::DynamicImage {
        let text = uri.strip_prefix("data:image/png;base64,").unwrap();
        image::load_from_memory(&STANDARD.decode(text).unwrap()).unwrap()
    }

    #[test]
    fn pictures_come_back_as_they_went_in() {
        let canvas = Canvas::new(Picture { height: 1, width: 3, channels: 1 }, 3).unwrap();
        let scale = Scale { low: 0.0, high: 1.0 };
        let drawn = decode(&canvas.values(&[0.0, 1.0, 7.0], scale).unwrap()).to_luma8();
        assert_eq!(drawn.into_raw(), [0, 255, 255]);
        let drawn = decode(&canvas.values(&[1.0, f64::NAN, 0.0], scale).unwrap()).to_rgba8();
        assert_eq!(drawn.get_pixel(0, 0).0, [255; 4]);
        assert_eq!(drawn.get_pixel(1, 0).0[3], 0);
    }

    #[test]
    fn colour_pictures_keep_their_channels() {
        let canvas = Canvas::new(Picture { height: 1, width: 1, channels: 3 }, 3).unwrap();
        let uri = canvas.values(&[1.0, 0.0, 0.5], Scale { low: 0.0, high: 1.0 }).unwrap();
        assert_eq!(decode(&uri).to_rgb8().into_raw(), [255, 0, 128]);
    }

    #[test]
    fn the_pixel_that_a_patch_leaves_out_is_drawn() {
        let canvas = Canvas::new(Picture { height: 2, width: 2, channels: 1 }, 3).unwrap();
        let scale = Scale { low: -1.0, high: 1.0 };
        let drawn = decode(&canvas.values(&[1.0, -1.0, 1.0], scale).unwrap()).to_luma8();
        assert_eq!(drawn.into_raw(), [255, 0, 255, 0]);
        let drawn = decode(&canvas.mask([1, 2, 3], |pixel| [1.0, 0.0, 1.0][pixel]).unwrap());
        assert_eq!(drawn.to_rgba8().get_pixel(1, 1).0[3], 0);
        assert!(canvas.map(|pixel| ([[9; 3]; 3][pixel], 1.0)).is_some());
        assert!(Canvas::new(Picture { height: 1, width: 1, channels: 3 }, 2).is_none());
    }

    #[test]
    fn large_pictures_are_averaged_down() {
        let picture = Picture { height: 200, width: 400, channels: 1 };
        let canvas = Canvas::new(picture, 80_000).unwrap();
        let drawn = decode(&canvas.mask([1, 2, 3], |_| 0.5).unwrap()).to_rgba8();
        assert_eq!(drawn.dimensions(), (80, 40));
        assert_eq!(drawn.get_pixel(0, 0).0, [1, 2, 3, 128]);
    }

    #[test]
    fn pictures_that_do_not_fit_are_none() {
        let odd = |height, width, channels| Picture { height, width, channels };
        assert!(Canvas::new(odd(2, 2, 2), 8).is_none());
        assert!(Canvas::new(odd(2, 2, 1), 5).is_none());
        assert!(Canvas::new(odd(0, 0, 1), 0).is_none());
        assert!(Canvas::new(odd(usize::MAX, 2, 1), 5).is_none());
    }

    #[test]
    fn wild_values_do_not_flatten_the_scale() {
        let values = (0..5000).map(|i| if i == 7 { 1e300 } else { f64::from(i % 2) });
        assert_eq!(Scale::of(values), Scale { low: 0.0, high: 1.0 });
        let widest = Scale { low: -f64::MAX, high: f64::MAX };
        assert_eq!((widest.level(-f64::MAX), widest.level(f64::MAX)), (0, 255));
        assert_eq!(Scale { low: 2.0, high: 2.0 }.level(2.0), 128);
    }
}
