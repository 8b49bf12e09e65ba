//! One colour a part, told apart by people who see colours differently, on light and dark.

/// Mid-toned colours: most of them Okabe and Ito's, without the yellow and black that vanish on
/// white or on black.
const BASE: [[u8; 3]; 10] = [
    [0x00, 0x72, 0xb2],
    [0xd5, 0x5e, 0x00],
    [0x00, 0x9e, 0x73],
    [0xcc, 0x79, 0xa7],
    [0xe6, 0x9f, 0x00],
    [0x56, 0xb4, 0xe9],
    [0x86, 0x62, 0xc4],
    [0x8c, 0x8c, 0x1e],
    [0xa0, 0x62, 0x40],
    [0x7a, 0x82, 0x8c],
];

/// The colour of a part. After ten parts they come again, lighter and darker in turn.
pub(crate) fn colour(part: usize) -> [u8; 3] {
    let base = BASE[part % BASE.len()];
    let round = part / BASE.len();
    let (towards, share) = match round % 3 {
        0 => (0.0, 0.0),
        1 => (255.0, 0.4),
        _ => (0.0, 0.35),
    };
    base.map(|c| (f64::from(c) + share * (towards - f64::from(c))).round() as u8)
}

/// The colour of a part, for CSS.
pub(crate) fn css(part: usize) -> String {
    let [r, g, b] = colour(part);
    format!("#{r:02x}{g:02x}{b:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_parts_have_thirty_colours() {
        let mut colours: Vec<_> = (0..30).map(colour).collect();
        colours.sort_unstable();
        colours.dedup();
        assert_eq!(colours.len(), 30);
        assert_eq!(css(0), "#0072b2");
        assert_eq!(css(usize::MAX).len(), 7);
    }
}
