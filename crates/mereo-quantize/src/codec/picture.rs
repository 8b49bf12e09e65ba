//! Pictures to features and back.

use mereo_core::{Context, Error, Result};

use super::sheet::Sheet;
use super::{Coded, Colour, What, check_bits, check_cells, rounds, say};

/// Most starts that can be asked for.
const MOST_RESTARTS: usize = 1000;

/// A picture: bytes row by row, channels fastest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// 1 (grey) or 3 (red, green, blue).
    pub channels: u8,
    /// `[height, width, channels]`.
    pub pixels: Vec<u8>,
}

/// How to compress a picture.
///
/// ```
/// let params = mereo_quantize::codec::picture::CodecParams::default();
/// assert_eq!((params.block, params.features, params.bits), (16, 8, 16));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct CodecParams {
    /// The side of a block.
    pub block: u32,
    /// Features of each set; with 0, sets are a plain codebook.
    pub features: usize,
    /// Number of sets.
    pub sets: usize,
    /// Bits that each number of a feature is rounded to.
    pub bits: u8,
    /// λ: how much squared error a bit of the file must save, in squared levels of grey. With 0 the
    /// error is the least that the features allow, however many bits it takes to say so.
    pub penalty: f64,
    /// Whether blocks are guessed from those above and to the left, and only the rest is said.
    pub guess: bool,
    /// How colour pictures are taken apart.
    pub colour: Colour,
    /// How many starts to try; the best wins.
    pub restarts: usize,
}

impl Default for CodecParams {
    fn default() -> Self {
        Self {
            block: 16,
            features: 8,
            sets: 1,
            bits: 16,
            penalty: 0.0,
            guess: true,
            colour: Colour::YCbCr,
            restarts: 3,
        }
    }
}

/// Takes a picture apart.
fn sheets(picture: &Picture, colour: Colour) -> Vec<Sheet> {
    let (width, height) = (picture.width as usize, picture.height as usize);
    let sheet = |values: Vec<f32>| Sheet { width, height, values };
    if picture.channels == 1 {
        return vec![sheet(picture.pixels.iter().map(|&p| f32::from(p)).collect())];
    }
    let of = |weights: [f32; 3], offset: f32| {
        let value =
            |p: &[u8]| weights.iter().zip(p).map(|(w, &p)| w * f32::from(p)).sum::<f32>() + offset;
        sheet(picture.pixels.chunks_exact(3).map(value).collect())
    };
    match colour {
        Colour::YCbCr => vec![
            of([0.299, 0.587, 0.114], 0.0),
            of([-0.168_736, -0.331_264, 0.5], 128.0).halved(),
            of([0.5, -0.418_688, -0.081_312], 128.0).halved(),
        ],
        Colour::Grey | Colour::Planes => {
            vec![of([1.0, 0.0, 0.0], 0.0), of([0.0, 1.0, 0.0], 0.0), of([0.0, 0.0, 1.0], 0.0)]
        }
    }
}

impl Coded {
    /// Learns features of a picture's blocks and says the picture with them. Asked to stop, it keeps
    /// the best so far.
    ///
    /// ```
    /// use mereo_core::Context;
    /// use mereo_quantize::codec::{Coded, picture::{CodecParams, Picture}};
    /// let pixels = (0..64u8).map(|i| if i % 8 < 4 { 200 } else { 10 }).collect();
    /// let picture = Picture { width: 8, height: 8, channels: 1, pixels };
    /// // All blocks are one of two; what is left of them by guesses would be more kinds.
    /// let params = CodecParams { block: 4, features: 1, guess: false, ..CodecParams::default() };
    /// let coded = Coded::of_picture(&picture, &params, &Context::new(0))?;
    /// assert_eq!(coded.picture()?, picture);
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn of_picture(picture: &Picture, params: &CodecParams, context: &Context) -> Result<Self> {
        Self::of_picture_told(picture, params, context, &mut |_| ())
    }

    /// The same, telling now and then what share of the work is done, from 0 to 1.
    ///
    /// ```
    /// use mereo_core::Context;
    /// use mereo_quantize::codec::{Coded, picture::{CodecParams, Picture}};
    /// let picture = Picture { width: 8, height: 8, channels: 1, pixels: (0..64).collect() };
    /// let (params, context) = (CodecParams { block: 4, ..CodecParams::default() }, Context::new(0));
    /// let mut shares = Vec::new();
    /// Coded::of_picture_told(&picture, &params, &context, &mut |share| shares.push(share))?;
    /// assert!(shares.is_sorted() && shares.last() == Some(&1.0));
    /// # Ok::<(), mereo_core::Error>(())
    /// ```
    pub fn of_picture_told(
        picture: &Picture,
        params: &CodecParams,
        context: &Context,
        told: &mut (dyn FnMut(f64) + Send),
    ) -> Result<Self> {
        check_bits(params.bits)?;
        if !(1..=256).contains(&params.block) {
            return Err(Error::option("block", format!("{} is not from 1 to 256", params.block)));
        }
        if params.features == 0 && params.sets < 2 {
            let problem = "a codebook of one vector says nothing; give features, or more sets";
            return Err(Error::option("features", problem));
        }
        if !(1..=MOST_RESTARTS).contains(&params.restarts) {
            let problem = format!("{} is not from 1 to {MOST_RESTARTS}", params.restarts);
            return Err(Error::option("restarts", problem));
        }
        if !(0.0..=1e6).contains(&params.penalty) {
            return Err(Error::option(
                "penalty",
                format!("{} is not from 0 to 1e6", params.penalty),
            ));
        }
        let Picture { width, height, channels, .. } = *picture;
        let colour = if channels == 1 { Colour::Grey } else { params.colour };
        let what =
            What::Picture { width, height, block: params.block, colour, guessed: params.guess };
        let pixels = u64::from(width) * u64::from(height) * u64::from(channels);
        if pixels == 0 || pixels != picture.pixels.len() as u64 || !matches!(channels, 1 | 3) {
            return Err(Error::option("image", "it has no pixels, or not as many as it says"));
        }
        check_cells(what)?;
        let sheets = sheets(picture, colour);
        let all: usize = sheets.iter().map(|sheet| sheet.values.len()).sum();
        let mut before = 0;
        let mut planes = Vec::with_capacity(sheets.len());
        for sheet in &sheets {
            let own = sheet.values.len();
            let must_end = !planes.is_empty();
            planes.push(rounds::plane(sheet, params, must_end, context, &mut |share| {
                told((before as f64 + share * own as f64) / all as f64);
            })?);
            before += own;
        }
        Ok(Self { what, planes })
    }

    /// The picture.
    pub fn picture(&self) -> Result<Picture> {
        let What::Picture { width, height, block, colour, guessed } = self.what else {
            return Err(Error::option("image", "the file holds a table, not a picture"));
        };
        let (w, h, side) = (width as usize, height as usize, block as usize);
        let sheets: Vec<Sheet> = self
            .planes
            .iter()
            .enumerate()
            .map(|(number, plane)| {
                let half = colour == Colour::YCbCr && number > 0;
                let (w, h) = if half { (w.div_ceil(2), h.div_ceil(2)) } else { (w, h) };
                say::heard(plane, w, h, side, guessed)
            })
            .collect();
        let channels: u8 = if colour == Colour::Grey { 1 } else { 3 };
        let mut pixels = Vec::with_capacity(w * h * usize::from(channels));
        let byte = |v: f32| v.round().clamp(0.0, 255.0) as u8;
        for y in 0..h {
            for x in 0..w {
                let at = y * w + x;
                match colour {
                    Colour::Grey => pixels.push(byte(sheets[0].values[at])),
                    Colour::Planes => pixels.extend(sheets.iter().map(|s| byte(s.values[at]))),
                    Colour::YCbCr => {
                        let small = y / 2 * sheets[1].width + x / 2;
                        let luminance = sheets[0].values[at];
                        let cb = sheets[1].values[small] - 128.0;
                        let cr = sheets[2].values[small] - 128.0;
                        pixels.push(byte(luminance + 1.402 * cr));
                        pixels.push(byte(luminance - 0.344_136 * cb - 0.714_136 * cr));
                        pixels.push(byte(luminance + 1.772 * cb));
                    }
                }
            }
        }
        Ok(Picture { width, height, channels, pixels })
    }
}

/// How near two pictures of one size are: the peak signal-to-noise ratio in decibels, infinite if
/// they are the same.
///
/// ```
/// use mereo_quantize::codec::picture::{Picture, psnr};
/// let picture = |p| Picture { width: 1, height: 1, channels: 1, pixels: vec![p] };
/// assert_eq!(psnr(&picture(0), &picture(255)), 0.0);
/// ```
pub fn psnr(a: &Picture, b: &Picture) -> f64 {
    let pairs = a.pixels.iter().zip(&b.pixels);
    let squares: f64 = pairs.map(|(&a, &b)| (f64::from(a) - f64::from(b)).powi(2)).sum();
    10.0 * (255.0f64.powi(2) * a.pixels.len() as f64 / squares).log10()
}

/// The structural similarity of two pictures of one size, 1 if they are the same: the mean over
/// all windows of 8 by 8 pixels, 4 apart, of their luminance.
///
/// ```
/// use mereo_quantize::codec::picture::{Picture, ssim};
/// let picture = Picture { width: 8, height: 8, channels: 1, pixels: (0..64).collect() };
/// assert!((ssim(&picture, &picture) - 1.0).abs() < 1e-12);
/// ```
pub fn ssim(a: &Picture, b: &Picture) -> f64 {
    let luminance = |p: &Picture| sheets(p, Colour::YCbCr).swap_remove(0);
    let (a, b) = (luminance(a), luminance(b));
    let side = 8.min(a.width).min(a.height);
    let (c1, c2) = ((0.01f64 * 255.0).powi(2), (0.03f64 * 255.0).powi(2));
    let (mut sum, mut windows) = (0.0, 0.0);
    for top in (0..=a.height - side).step_by(4) {
        for left in (0..=a.width - side).step_by(4) {
            let mut sums = [0.0; 5];
            for y in top..top + side {
                for x in left..left + side {
                    let at = y * a.width + x;
                    let (p, q) = (f64::from(a.values[at]), f64::from(b.values[at]));
                    for (sum, v) in sums.iter_mut().zip([p, q, p * p, q * q, p * q]) {
                        *sum += v;
                    }
                }
            }
            let [p, q, pp, qq, pq] = sums.map(|s| s / (side * side) as f64);
            let top = (2.0 * p * q + c1) * (2.0 * (pq - p * q) + c2);
            let bottom = (p * p + q * q + c1) * (pp - p * p + qq - q * q + c2);
            sum += top / bottom;
            windows += 1.0;
        }
    }
    sum / windows
}
