//! Cleaning whole pictures: of two levels by their brightness, of many channel by channel.

use mereo_core::{Context, Error, Result};
use mereo_data::Pixels;
use mereo_field::Neighbours;
use mereo_field::denoise::{DenoiseParams, Denoised, Shape, binary, grey};
use mereo_field::learn::{LabelPicture, differences_pseudo_likelihood, potts_pseudo_likelihood};

/// A picture cleaned: all channels together.
#[derive(Debug, Clone)]
pub struct Cleaned {
    /// The picture.
    pub picture: Pixels,
    /// How each channel was cleaned.
    pub channels: Vec<Denoised>,
}

/// How many levels the pixels of a picture have: those told, 2 or 256, or 2 if all are black or white.
///
/// ```
/// use mereo::data::Pixels;
/// use mereo::denoise::levels;
/// let picture = Pixels { height: 1, width: 2, channels: 1, bytes: vec![0, 255] };
/// assert_eq!((levels(&picture, None)?, levels(&picture, Some(256))?), (2, 256));
/// assert!(levels(&picture, Some(3)).is_err());
/// # Ok::<(), mereo::Error>(())
/// ```
pub fn levels(picture: &Pixels, told: Option<usize>) -> Result<usize> {
    match told {
        Some(levels @ (2 | 256)) => Ok(levels),
        Some(other) => {
            let problem = format!("{other} is neither 2 (black and white) nor 256 (grey)");
            Err(Error::option("levels", problem))
        }
        None if picture.bytes.iter().all(|b| matches!(b, 0 | 255)) => Ok(2),
        None => Ok(256),
    }
}

/// Which pixels are brighter than the middle.
pub fn bright(picture: &Pixels) -> Vec<bool> {
    let mean = |p: &[u8]| p.iter().map(|b| usize::from(*b)).sum::<usize>() >= 128 * p.len();
    picture.bytes.chunks_exact(picture.channels).map(mean).collect()
}

/// Cleans all channels; of two levels the brightness alone.
///
/// ```
/// use mereo::data::Pixels;
/// use mereo::denoise::clean;
/// use mereo::field::denoise::DenoiseParams;
/// let mut bytes = vec![255; 400];
/// bytes[210] = 0;
/// let seen = Pixels { height: 20, width: 20, channels: 1, bytes };
/// let cleaned = clean(&seen, 2, &DenoiseParams::default(), &mereo::Context::new(0))?;
/// assert!(cleaned.picture.bytes.iter().all(|b| *b == 255));
/// # Ok::<(), mereo::Error>(())
/// ```
pub fn clean(
    seen: &Pixels,
    levels: usize,
    params: &DenoiseParams,
    context: &Context,
) -> Result<Cleaned> {
    let size = (seen.height, seen.width);
    if levels == 2 {
        let found = binary(&bright(seen), size, params, context)?;
        let picture = Pixels { channels: 1, bytes: found.pixels.clone(), ..seen.clone() };
        return Ok(Cleaned { picture, channels: vec![found] });
    }
    let mut picture = seen.clone();
    let mut channels = Vec::new();
    for channel in 0..seen.channels {
        let own: Vec<u8> =
            seen.bytes.iter().skip(channel).step_by(seen.channels).copied().collect();
        let found = grey(&own, size, params, context)?;
        let places = picture.bytes.iter_mut().skip(channel).step_by(seen.channels);
        places.zip(&found.pixels).for_each(|(out, new)| *out = *new);
        channels.push(found);
    }
    Ok(Cleaned { picture, channels })
}

/// What neighbours that differ cost in clean pictures, found by pseudo-likelihood: a coupling for others like them.
///
/// ```
/// use mereo::data::Pixels;
/// use mereo::denoise::learn_coupling;
/// use mereo::field::denoise::Shape;
/// let bytes = (0..400).map(|i| if i % 20 < 9 { 255 } else { 0 }).collect();
/// let clean = Pixels { height: 20, width: 20, channels: 1, bytes };
/// assert!(learn_coupling(&[clean], 2, Shape::Potts)? > 1.0);
/// # Ok::<(), mereo::Error>(())
/// ```
pub fn learn_coupling(pictures: &[Pixels], levels: usize, shape: Shape) -> Result<f64> {
    let labels: Vec<Vec<u8>> = pictures
        .iter()
        .map(|p| match levels {
            2 => bright(p).into_iter().map(u8::from).collect(),
            _ => {
                let mean = |p: &[u8]| p.iter().map(|b| usize::from(*b)).sum::<usize>() / p.len();
                p.bytes.chunks_exact(p.channels).map(|p| mean(p) as u8).collect()
            }
        })
        .collect();
    let views: Vec<LabelPicture<'_>> = pictures
        .iter()
        .zip(&labels)
        .map(|(p, labels)| LabelPicture { height: p.height, width: p.width, labels })
        .collect();
    match (levels, shape) {
        (256, Shape::Differences(limit)) => differences_pseudo_likelihood(&views, limit),
        _ => Ok(potts_pseudo_likelihood(&views, levels, Neighbours::Four)?.weight),
    }
}
