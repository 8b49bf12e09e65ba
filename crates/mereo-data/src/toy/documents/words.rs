//! The vocabulary of the documents.

/// Each topic and its 55 words.
pub(super) const TOPICS: [(&str, &str); 6] = [
    (
        "cooking",
        "bake basil batter boil bread broth butter carrot cheese chef chop cinnamon cream cuisine \
         dessert dinner dough egg flavour flour fry garlic ginger gravy grill herb honey ingredient \
         kitchen knead lemon menu mushroom noodle olive onion oven pan pastry pepper recipe rice \
         roast salad salt sauce simmer soup spice stew sugar taste tomato vanilla whisk",
    ),
    (
        "astronomy",
        "asteroid astronaut astronomer aurora brightness comet constellation corona cosmos crater \
         dwarf eclipse equinox exoplanet galaxy gravity halo infrared interstellar jupiter \
         lightyear luminosity lunar magnitude mars mercury meteor milky moon nebula neptune \
         observatory orbit parallax photon planet probe pulsar quasar radiation redshift rocket \
         satellite saturn sky solar spacecraft spectrum star supernova telescope universe uranus \
         venus zodiac",
    ),
    (
        "music",
        "accordion album alto aria ballad band baritone bass beat brass cello choir chord chorus \
         clarinet composer concert conductor drum duet ensemble fiddle flute guitar harmony harp \
         hymn jazz lyric melody musician note oboe octave opera orchestra percussion piano quartet \
         quintet rehearsal rhythm saxophone singer solo sonata song soprano symphony tempo tenor \
         trombone trumpet tune violin",
    ),
    (
        "sailing",
        "anchor ballast bay beacon boat boom bow breeze buoy cabin captain cargo coast crew current \
         deck dock ferry fleet gale gulf harbour helm horizon hull island jetty keel knot lagoon \
         lighthouse marina mast mooring nautical navigate ocean oar port propeller reef rigging \
         rudder sail sailor seaside ship shore starboard storm tide voyage wave wharf yacht",
    ),
    (
        "medicine",
        "allergy anatomy antibiotic artery bandage blood bone cancer cardiac clinic cough cure \
         diabetes diagnosis disease doctor dose fever fracture heart hospital immune infection \
         injection insulin kidney liver lung medicine muscle nerve nurse nutrition pain patient \
         pharmacy physician pill pregnancy prescription pulse remedy scan skin stroke surgeon \
         surgery symptom therapy tissue tumour ulcer vaccine virus wound",
    ),
    (
        "money",
        "account asset auction audit bank bankrupt bond bonus broker budget capital cash coin \
         commerce creditor currency customs debt deficit deposit dividend dollar earnings economy \
         equity exchange export finance fiscal fund income inflation insurance interest invest \
         invoice lender loan market merger mortgage payment pension price profit recession revenue \
         salary shareholder stock tariff tax trade treasury wealth",
    ),
];

/// Words that belong to no topic.
pub(super) const COMMON: &str = "about across again almost always another anyone around because \
     become before began begin better between bring call certain change could day different does \
     during each early either end enough every example face fact family far few find follow friend \
     give good great group hand help house however idea important keep kind large last learn leave \
     life little long look make many matter most name need never often other people place";
