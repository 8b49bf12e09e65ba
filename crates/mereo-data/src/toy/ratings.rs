//! Ratings of films: users with a taste in each genre, who saw few of the films.
//!
//! 300 films in six genres, rated 1 to 5. The parts are the genres: a user has one taste in
//! each, independent of the others, and a rating is that taste plus the film's quality plus
//! noise, rounded. Popular films are rated by many and others by few, whatever their rating,
//! so about one cell in eight is known and the rest is unobserved.

use mereo_core::{Absent, Context, Random, Result};
use rand::RngExt;
use rand_distr::StandardNormal;

use super::{Rows, Toy, Truth, World, check_rows, choose, owned};

/// Number of films in each genre.
const FILMS: usize = 50;
/// Every user rated at least this many films, and at most `MOST_RATED`.
const FEWEST_RATED: usize = 15;
const MOST_RATED: usize = 150;
/// How many more films than the fewest a user rated, on average.
const MORE_RATED: f64 = 22.0;

const MIDDLE: f64 = 3.1;
const QUALITY_SPREAD: f64 = 0.35;
const NOISE: f64 = 0.55;

/// Each genre: its name, and the words that its titles are made of.
const GENRES: [(&str, [&str; 10], [&str; 5]); 6] = [
    (
        "western",
        [
            "Dusty",
            "Crooked",
            "Lonesome",
            "Two-Gun",
            "Rattlesnake",
            "High Plains",
            "Silver",
            "Burning",
            "Last",
            "Forty-Mile",
        ],
        ["Sheriff", "Canyon", "Saloon", "Stagecoach", "Duel"],
    ),
    (
        "space",
        [
            "Cosmic",
            "Orbiting",
            "Zero-Gravity",
            "Martian",
            "Warp-Speed",
            "Android",
            "Lunar",
            "Hyperspace",
            "Quantum",
            "Ninth",
        ],
        ["Colony", "Armada", "Castaway", "Starship", "Paradox"],
    ),
    (
        "romance",
        [
            "Moonlit",
            "Parisian",
            "Unspoken",
            "Second-Chance",
            "Sweet",
            "Summer",
            "Stolen",
            "Rainy",
            "Reluctant",
            "Hopeless",
        ],
        ["Letters", "Kiss", "Wedding", "Waltz", "Bookshop"],
    ),
    (
        "horror",
        [
            "Midnight",
            "Haunted",
            "Cursed",
            "Whispering",
            "Hollow",
            "Forgotten",
            "Nameless",
            "Crimson",
            "Seventh",
            "Buried",
        ],
        ["Cellar", "Doll", "Lighthouse", "Asylum", "Orchard"],
    ),
    (
        "comedy",
        [
            "Awkward",
            "Accidental",
            "Undercover",
            "Clumsy",
            "Runaway",
            "Totally",
            "Three Wise",
            "My Cousin's",
            "Grumpy",
            "Unlikely",
        ],
        ["Butlers", "Llamas", "Dentists", "Roommates", "Grandmothers"],
    ),
    (
        "heist",
        [
            "Perfect",
            "Diamond",
            "Double-Crossed",
            "Eleventh-Hour",
            "Counterfeit",
            "Monaco",
            "Velvet",
            "Nine-Million",
            "Inside",
            "Honest",
        ],
        ["Vault", "Getaway", "Safecracker", "Alibi", "Job"],
    ),
];

/// Each taste: its name, how many users in a hundred have it, and what it adds to the rating of
/// a classic and of a modern film.
const TASTES: [(&str, f64, f64, f64); 5] = [
    ("loves", 20.0, 1.4, 1.4),
    ("likes", 25.0, 0.5, 0.5),
    ("dislikes", 25.0, -1.3, -1.3),
    ("classics only", 15.0, 1.2, -1.4),
    ("modern only", 15.0, -1.4, 1.2),
];

struct Film {
    title: String,
    genre: usize,
    classic: bool,
    quality: f64,
    popularity: f64,
}

/// Makes users and their ratings.
///
/// ```
/// use mereo_data::toy::ratings;
/// let toy = ratings::make(10, 0)?;
/// assert_eq!(toy.table.columns(), 300);
/// assert_eq!(toy.table.name(1), "Cosmic Colony (space, 1951)");
/// # Ok::<(), mereo_core::Error>(())
/// ```
pub fn make(rows: usize, seed: u64) -> Result<Toy> {
    check_rows(rows)?;
    let context = Context::new(seed);
    let films = films(&mut context.random("toy films", [0, 0]));
    let mut ratings = Rows::new(films.len(), Absent::Unobserved);
    let mut states = Vec::with_capacity(rows);
    for row in 0..rows {
        let mut random = context.random("toy user", [row as u64, 0]);
        let tastes = GENRES.map(|_| choose(&TASTES.map(|taste| taste.1), &mut random));
        for film in seen(&films, &mut random) {
            let Film { genre, classic, quality, .. } = films[film];
            let (_, _, for_classic, for_modern) = TASTES[tastes[genre]];
            let taste = if classic { for_classic } else { for_modern };
            let noise: f64 = random.sample(StandardNormal);
            let rating = MIDDLE + taste + quality + NOISE * noise;
            ratings.cell(film, rating.round().clamp(1.0, 5.0) as f32);
        }
        ratings.end_row();
        states.push(tastes.iter().map(|&taste| taste as u32).collect());
    }
    let truth = Truth {
        world: World::Ratings.to_string(),
        seed,
        parts: owned(&GENRES.map(|genre| genre.0)),
        state_names: vec![owned(&TASTES.map(|taste| taste.0)); GENRES.len()],
        part_of_column: films.iter().map(|film| Some(film.genre as u32)).collect(),
        states,
        labels: None,
    };
    let titles = films.into_iter().map(|film| film.title).collect();
    Ok(Toy { table: ratings.table()?.with_names(titles)?, truth })
}

/// The films, genres taking turns. Half of each genre are classics, as their years tell.
fn films(random: &mut Random) -> Vec<Film> {
    (0..FILMS * GENRES.len())
        .map(|number| {
            let (genre, film) = (number % GENRES.len(), number / GENRES.len());
            let (name, first, second) = &GENRES[genre];
            let (first, second) = (first[film % first.len()], second[film / first.len()]);
            let classic = film % 2 == 0;
            // Spread over the years without two lists of them: any odd stride would do.
            let year = if classic { 1951 } else { 1990 } + film * 7 % 30;
            let quality: f64 = random.sample(StandardNormal);
            let rank: f64 = random.random_range(0.0..1.0);
            Film {
                title: format!("{first} {second} ({name}, {year})"),
                genre,
                classic,
                quality: QUALITY_SPREAD * quality,
                popularity: (0.04 + rank).powf(-0.8),
            }
        })
        .collect()
}

/// The films that a user rated, in rising order: drawn without repetition, popular ones first.
fn seen(films: &[Film], random: &mut Random) -> Vec<usize> {
    let more = -MORE_RATED * (1.0 - random.random::<f64>()).ln();
    let count = FEWEST_RATED + (more as usize).min(MOST_RATED - FEWEST_RATED);
    // Each film's turn comes after an exponential time with its popularity as rate: those whose
    // turn comes first are a sample without repetition.
    let mut turns: Vec<(f64, usize)> = films
        .iter()
        .enumerate()
        .map(|(film, about)| (-(1.0 - random.random::<f64>()).ln() / about.popularity, film))
        .collect();
    turns.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut seen: Vec<usize> = turns[..count.min(turns.len())].iter().map(|turn| turn.1).collect();
    seen.sort_unstable();
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use mereo_core::Cells;

    #[test]
    fn titles_differ_and_tell_genre_and_age() {
        let films = films(&mut Context::new(0).random("", [0, 0]));
        let mut titles: Vec<&str> = films.iter().map(|f| f.title.as_str()).collect();
        titles.sort_unstable();
        titles.dedup();
        assert_eq!(titles.len(), FILMS * GENRES.len());
        for film in &films {
            assert!(film.title.contains(GENRES[film.genre].0));
            let year: u32 =
                film.title[film.title.len() - 5..].trim_end_matches(')').parse().unwrap();
            assert_eq!(film.classic, year < 1985, "{}", film.title);
        }
    }

    #[test]
    fn about_an_eighth_is_known_and_skewed_to_popular_films() {
        let toy = make(2000, 0).unwrap();
        let Cells::Sparse(cells) = toy.table.cells() else { panic!() };
        assert_eq!(cells.absent(), Absent::Unobserved);
        let known = cells.values().len() as f64 / (2000.0 * 300.0);
        assert!((0.10..0.15).contains(&known), "{known}");
        assert!((0..2000).all(|row| cells.row(row).0.len() >= FEWEST_RATED));
        assert!(cells.values().iter().all(|v| (1.0..=5.0).contains(v) && v.fract() == 0.0));
        let mut counts = vec![0usize; 300];
        cells.indices().iter().for_each(|&film| counts[film as usize] += 1);
        counts.sort_unstable();
        assert!(counts[0] >= 50, "{}", counts[0]);
        assert!(counts[299] > 5 * counts[150] / 2, "{} {}", counts[299], counts[150]);
    }

    #[test]
    fn tastes_show_in_the_ratings() {
        let toy = make(500, 1).unwrap();
        let Cells::Sparse(cells) = toy.table.cells() else { panic!() };
        let mut sums = [(0.0, 0.0); TASTES.len()];
        for row in 0..500 {
            let (films, values) = cells.row(row);
            for (&film, &value) in films.iter().zip(values) {
                let genre = toy.truth.part_of_column[film as usize].unwrap() as usize;
                let sum = &mut sums[toy.truth.states[row][genre] as usize];
                *sum = (sum.0 + f64::from(value), sum.1 + 1.0);
            }
        }
        let means = sums.map(|(sum, count)| sum / count);
        assert!(means[0] > means[1] + 0.4 && means[1] > means[2] + 1.0, "{means:?}");
    }
}
