"""Letters and notes that were written for these tests, with the labels of their findings.

A label with ``-`` before it is negated, with ``*`` of another person, with ``?`` uncertain.
"""

LETTERS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "clinic letter": (
        "en",
        "Dear Dr Hall,\nThank you for referring this 6 year old girl. Mum is worried that she "
        "keeps falling over and that she is not keeping up at school. She had febrile "
        "convulsions aged 2 but no fits since. There is no family history of epilepsy; her "
        "brother has asthma. On examination her height was on the 0.4th centile and OFC -3 SD. "
        "She has a squint, low-set ears and webbing of the 2nd and 3rd toes. Heart sounds "
        "normal, no murmur. Tone was low. I could not demonstrate nystagmus.",
        (
            "Frequent falls",
            "Febrile seizure (within the age range of 3 months to 6 years)",
            "*Asthma",
            "Short stature",
            "Microcephaly",
            "Strabismus",
            "Low-set ears",
            "2-3 toe syndactyly",
            "-Heart murmur",
            "Hypotonia",
            "-Nystagmus",
        ),
    ),
    "ward note": (
        "en",
        "4yo M. PMH: VSD (closed), GORD, UTIs. GDD. No sz. O/E: hypertelorism, micrognathia, "
        "bilat. clinodactyly, SPC x1. BP 150/95. Hb 7.9 g/dl, plts 88. Neg. for HSM. FHx: mo "
        "migraine, fa HTN.",
        (
            "Ventricular septal defect",
            "Gastroesophageal reflux",
            "Recurrent urinary tract infections",
            "Global developmental delay",
            "-Seizure",
            "Hypertelorism",
            "Micrognathia",
            "Clinodactyly",
            "Single transverse palmar crease",
            "Hypertension",
            "Anemia",
            "Thrombocytopenia",
            "-Hepatosplenomegaly",
            "*Migraine",
        ),
    ),
    "discharge summary": (
        "en",
        "Diagnosis: Noonan syndrome.\nPresenting complaint: breathlessness and poor "
        "feeding.\nFindings: pulmonary valve stenosis, hypertrophic cardiomyopathy, "
        "undescended testes, wide-spaced nipples, ptosis of the left eye. Findings not "
        "present: cleft palate, hearing loss. Possible lymphedema of the feet.\nPlan: return "
        "if fever develops.",
        (
            "Dyspnea",
            "Feeding difficulties",
            "Pulmonic stenosis",
            "Hypertrophic cardiomyopathy",
            "Cryptorchidism",
            "Wide intermamillary distance",
            "Ptosis",
            "-Cleft palate",
            "-Hearing impairment",
            "?Lymphedema",
            "?Fever",
        ),
    ),
    "phone note": (
        "en",
        "Spoke to dad. Still wets the bed, snores loudly, and stopped talking at 2. Very "
        "clumsy, walks on tiptoes. Doesn't have tics. Tired all the time. Nosebleeds weekly. "
        "bruises easily. no constipation. Gran had glaucoma.",
        (
            "Enuresis nocturna",
            "Loud snoring",
            "Loss of speech",
            "Clumsiness",
            "Tip-toe gait",
            "-Tics",
            "Fatigue",
            "Epistaxis",
            "Bruising susceptibility",
            "-Constipation",
            "*Glaucoma",
        ),
    ),
    "Arztbrief": (
        "de",
        "Sehr geehrte Frau Kollegin,\nwir berichten über einen 5-jährigen Jungen mit "
        "Entwicklungsverzögerung und muskulärer Hypotonie. Laut der Mutter bestehen seit dem "
        "2. Lebensjahr Krampfanfälle. Kein Herzfehler. Eine Hörminderung wurde ausgeschlossen. "
        "Bei der Untersuchung fallen Mikrozephalie, tief sitzende Ohren, eine Gaumenspalte und "
        "ein Hodenhochstand auf. Der Vater hat eine Epilepsie.",
        (
            "Global developmental delay",
            "Hypotonia",
            "Seizure",
            "-Abnormal heart morphology",
            "-Hearing impairment",
            "Microcephaly",
            "Low-set ears",
            "Cleft palate",
            "Cryptorchidism",
        ),
    ),
    "Ambulanznotiz": (
        "de",
        "Pat. 12 J., Z. n. Leistenhernie. Kleinwuchs, Skoliose, Trichterbrust, überstreckbare "
        "Gelenke. Kurzsichtigkeit beidseits. Keine Linsenluxation. Herz: Mitralklappenprolaps, "
        "keine Aortendilatation. Verdacht auf Osteoporose. FA: Mutter Aneurysma.",
        (
            "Inguinal hernia",
            "Short stature",
            "Scoliosis",
            "Pectus excavatum",
            "Joint hypermobility",
            "Myopia",
            "-Ectopia lentis",
            "Mitral valve prolapse",
            "-Aortic root aneurysm",
            "?Osteoporosis",
        ),
    ),
    "Entlassungsbrief": (
        "de",
        "Diagnosen: Neugeborenengelbsucht, Trinkschwäche, Zwerchfellhernie.\nDas Neugeborene "
        "zeigte eine Blässe und eine vergrößerte Leber. Die Milz war nicht vergrößert. Es "
        "besteht eine Lippenspalte rechts sowie eine Polydaktylie. Ein Nystagmus ist nicht "
        "aufgetreten. Hb 8,1 g/dl, Thrombozyten 90/nl. Familienanamnese: Diabetes mellitus bei "
        "der Großmutter.",
        (
            "Neonatal hyperbilirubinemia",
            "Poor suck",
            "Congenital diaphragmatic hernia",
            "Pallor",
            "Hepatomegaly",
            "-Splenomegaly",
            "Cleft lip",
            "Polydactyly",
            "-Nystagmus",
            "Anemia",
            "Thrombocytopenia",
            "*Diabetes mellitus",
        ),
    ),
    "compte rendu": (
        "fr",
        "Fillette de 3 ans avec retard psychomoteur, hypotonie et microcéphalie. Elle n'a pas "
        "de crises d'épilepsie. Examen: fente palatine, strabisme, petite taille. La surdité a "
        "été exclue. Sa mère souffre de migraine.",
        (
            "Global developmental delay",
            "Hypotonia",
            "Microcephaly",
            "-Seizure",
            "Cleft palate",
            "Strabismus",
            "Short stature",
            "-Hearing impairment",
            "*Migraine",
        ),
    ),
    "informe": (
        "es",
        "Niño de 7 años con retraso del desarrollo, convulsiones y talla baja. No presenta "
        "estrabismo. Exploración: paladar hendido, pie zambo y escoliosis. Se descartó "
        "sordera. La madre tiene diabetes mellitus.",
        (
            "Global developmental delay",
            "Seizure",
            "Short stature",
            "-Strabismus",
            "Cleft palate",
            "Talipes equinovarus",
            "Scoliosis",
            "-Hearing impairment",
            "*Diabetes mellitus",
        ),
    ),
    "brief": (
        "nl",
        "Jongen van 4 jaar met ontwikkelingsachterstand, hypotonie en epilepsie. Geen "
        "slechthorendheid. Onderzoek: microcefalie, gespleten gehemelte, scoliose en "
        "scheelzien. Een hartafwijking werd niet gevonden. Zijn vader heeft migraine.",
        (
            "Global developmental delay",
            "Hypotonia",
            "Seizure",
            "-Hearing impairment",
            "Microcephaly",
            "Cleft palate",
            "Scoliosis",
            "Strabismus",
            "-Abnormal heart morphology",
            "*Migraine",
        ),
    ),
}
