"""Pieces that the English rules are made of. Upper case counts where `(?-i:` stands, for names."""

from __future__ import annotations

CJK = r"[\u3400-\u9fff·]"
CAP = r"(?-i:[A-Z][\w'&.-]{0,30}(?: (?:(?:de|van|von|del|la|der|of|and|&) )?(?!I\b)[A-Z][\w'&-]{0,30}){0,3})"
NAME = rf"(?:(?:(?:mr|mrs|ms|dr|prof|miss)\.? )?{CAP}|{CJK}{{2,4}}|[^\W\d_]{{2,20}}(?= ?(?:$|,)))"
PLACE = (
    rf"(?:(?-i:(?:(?:St|Mt|Ft)\.? )?(?!St\b|Mt\b|Ft\b)[A-Z][\w'-]{{1,30}}(?: [A-Z][\w'-]{{1,30}}){{0,2}})"
    rf"|{CJK}{{2,6}}|(?!(?:the|my|that|fear"
    rf"|pain|hope|poverty|peace|denial|hell|town|europe|luxury|here|there)\b)[^\W\d_]{{3,20}}(?= ?(?:$"
    rf"|,)))"
)
VERY = (
    r"(?: (?:so|very|really|quite|pretty|rather|extremely|just|now|also|still|always|totally|absolutely"
    r"|truly|a bit|a little"
    r"|currently|actually|already|honestly|increasingly|getting|severely|highly|deathly|slightly|mildly"
    r"|profoundly|legally))*"
)
OFTEN = (
    r"(?:(?:really|also|just|usually|normally|generally|always|typically|mostly|still|absolutely|totally"
    r"|much|do|kind of"
    r"|personally|only|definitely|actually|honestly) ){0,2}"
)
# words that end a value: what comes after them is another thought
AFTER = (
    r"and|or|nor|but|because|so|since|when|while|if|which|who|that|though|although|anymore|any|please"
    r"|too|as|either|at"
    r"|honestly|actually|now|btw|by|over|than|instead|is|are|was|were|can|could|do|does|don't|i|i'm|i've"
    r"|i'd|my|we|you|it"
    r"|it's|from|after|before|until|about|even|then|there|here|to|otherwise|not|no|unless|anyway|however"
    r"|where|will|would"
)
WORD = rf"(?!(?:{AFTER})\b)\w[\w'’%-]*"
THING = rf"{WORD}(?: (?!(?:in|on|for|with|of)\b){WORD}){{0,3}}"
TASTE = rf"{WORD}(?: {WORD}){{0,4}}"
_BESIDE = rf"(?:(?:/| ?\+ ?){THING}){{0,6}}"
THINGS = rf"(?P<v>{THING}{_BESIDE}(?:(?:, {THING}){{0,6}},? (?:and|or|nor|&) {THING}{_BESIDE})?)"
# "after five", "in summer": a habit with a condition is no diet
NOT_ONLY_THEN = (
    r"(?! (?:after|before|until|till|during|when|while|if|unless|today|tonight|tomorrow|yet|at (?!all)|on \w+days?|in the"
    r"|in (?:summer|winter|public)|with|there|here|out|this|right now|for (?:breakfast|lunch|dinner))\b)"
)
# a taste must end where the thought does: "I love talking to people" is not about talking
DONE = (
    r"(?= ?(?:$|[^\w\s'/-]|- )| (?:but|because|so|since|when|while|too|though|although|please|pls|plz|as well|over"
    r"|than|instead|any ?more"
    r"|any longer|btw|right now|and (?:i|i'm|we|my|it|that|the)|if|which|to be honest|to bright)\b)"
)
TASTES = rf"(?P<v>{TASTE}(?:(?:, {TASTE}){{0,6}},? (?:and|or|nor|&) {TASTE})?){DONE}"
FOODS = (
    r"(?P<v>(?:gluten|dairy|lactose|sugar|alcohol|caffeine|meat|red meat|pork|beef|fish|seafood|shellfish|nuts|peanuts|eggs"
    r"|milk|soy|wheat|salt|spicy food|fried food|garlic|onions?|mushrooms))\b"
)
AM = r"\b(?:i'm|i am|im)"
NO_LONGER = r"(?: any ?more| any longer| these days| now)"

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
DAY = r"\d{1,2}(?:st|nd|rd|th)?"
ON = (
    rf"(?:{DAY}(?: (?:to|until|till|-) {DAY}| ?- ?{DAY})?(?: of)? {MONTH}(?:,? \d{{4}})?"
    rf"|{MONTH} {DAY}(?: (?:to|until|till|-) {DAY}| ?- ?{DAY})?(?:,? \d{{4}})?"
    r"|\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4})"
)
WHEN = rf"(?:{ON}|(?:next|this|coming) (?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:day after )?tomorrow)"
MONEY = (
    r"(?:[$€£¥] ?\d[\d,.]{0,12}k?\b|\d[\d,.]{0,12}k? ?(?:euros?|eur|dollars?|usd|pounds?|gbp|bucks|yuan"
    r"|rmb|chf|francs)\b"
    r"|\d[\d,.]{0,12} ?[€$£])"
)
SHOE = (
    r"(?:3[4-9]|4\d|50)(?:[.,]5)?\b(?! ?(?:%|euro|€|usd|dollar|pound|min|hour|day|week|year|km|mg|ml|kg"
    r"|people|piece))"
)
CLOTHES = r"(?:(?-i:XXXL|XXL|XL|XXS|XS|S|M|L|[2-5]XL)|small|medium|large|extra[- ](?:large|small))\b"
GARMENT = r"(?:shirt|t-shirt|dress|trouser|jeans|jacket|suit|skirt|pants|bra|coat|hoodie|sweater|clothes|clothing)"
PRODUCT = (
    r"(?:shoes?|sneakers?|boots?|sandals?|heels|trainers|jackets?|coats?|dress(?:es)?|shirts?|t-shirts?"
    r"|hoodies?|sweaters?"
    r"|jumpers?|trousers|jeans|pants|skirts?|socks|hats?|bags?|backpacks?|suitcases?|watch(?:es)?"
    r"|laptops?|computers?|pcs?"
    r"|phones?|tablets?|printers?|scanners?|monitors?|screens?|keyboards?|mouse|headsets?|headphones"
    r"|earbuds|earphones"
    r"|cameras?|routers?|chargers?|toasters?|kettles?|blenders?|mixers?|lamps?|chairs?|desks?|sofas?|mattress(?:es)?"
    r"|vacuum(?: cleaner)?|fridge|oven|dishwasher|washing machine|bikes?|bicycles?|tv|speakers?|docking station|dock)"
)
FAULT = (
    r"(?:won't|doesn't|does not|don't|isn't|stopped|shows?|flickers?|keeps?|broke|breaks|is (?:broken"
    r"|cracked|dead|defective|stuck)"
    r"|are (?:broken|defective)|crash(?:es|ed)|only (?:plays?|works?)|arrived (?:broken|damaged)"
    r"|has (?:stopped|died)|died|freezes)"
)
ROLE = (
    r"(?:engineer|developer|programmer|nurse|teacher|doctor|lawyer|accountant|designer|manager|analyst"
    r"|consultant|architect"
    r"|driver|cook|chef|waiter|waitress|student|intern|trainee|researcher|scientist|professor|pharmacist"
    r"|electrician|plumber"
    r"|carpenter|mechanic|journalist|translator|photographer|secretary|receptionist|recruiter"
    r"|salesperson|sales rep|cashier"
    r"|technician|team lead|team leader|tech lead|supervisor|director|pilot|farmer|baker|barber"
    r"|librarian|paramedic|therapist"
    r"|psychologist|dentist|economist|bookkeeper|freelancer|apprentice|clerk|police officer|firefighter"
    r"|social worker|tester)"
)
DEPARTMENT = (
    r"(?:it support|marketing|sales|finance|hr|legal|it|procurement|logistics|accounting|accounts"
    r"|engineering|support|operations"
    r"|purchasing|customer service|human resources|r&d|controlling|compliance|payroll|quality assurance)"
)
NOT_A_CITY = (
    rf"(?:{DEPARTMENT}|management|development|design|production|research|security|windows|linux|mac\w*|android|ios|iphone|azure|aws"
    r"|google|gmail|outlook|teams|python|java\w*|chrome|firefox|premium|plus|pro)"
)
LANGUAGE = (
    r"(?:english|german|french|spanish|portuguese|italian|dutch|polish|russian|ukrainian|turkish|arabic"
    r"|hebrew|hindi|urdu"
    r"|bengali|tamil|chinese|mandarin|cantonese|japanese|korean|vietnamese|thai|swedish|danish|norwegian"
    r"|finnish|greek|czech"
    r"|hungarian|romanian|bulgarian|catalan|swahili|indonesian|malay|persian|farsi|tagalog)"
)
LEVEL = r"(?:vip|gold|silver|platinum|diamond|premium|plus|prime|bronze|elite)"
NOT_A_NAME = (
    r"(?!(?:not|just|in|out|on|off|done|stuck|happy|sad|sorry|ready|back|here|there|still|also|now|very"
    r"|so|too|really|fine|ok"
    r"|okay|good|great|sure|lost|late|tired|new|afraid|aware|glad|vegan|vegetarian|at|from|the|a|an|my"
    r"|your|it|that|what|why"
    r"|how|when|where|who|no|yes|only|always|never|trying|german|french|dutch|swiss|greek|czech|thai"
    r"|welsh|scots|iraqi"
    r"|pakistani|israeli|saudi|arab|catholic|muslim|jewish|hindu|buddhist|sick|ill|blind|deaf|pregnant"
    r"|diabetic|allergic|about"
    r"|vip|gold|senior|junior|head|admin|administrator|root|god|system|[^\W\d_]{3,}(?:ing|ful|ous|less"
    r"|able|ible|ive|ish|ese)"
    r"|[^\W\d_]*(?:erican|ussian|talian|ndian|ustralian|anadian|razilian|orwegian|ungarian|krainian"
    r"|ustrian|elgian|gyptian"
    r"|sian|exican|omanian|ulgarian))\b)"
)
INTENT = (
    r"(?:\bi(?:'d| would) (?:really )?(?:like|love|want)(?: to)?|\b(?:i|we) (?:really )?(?:want|need"
    r"|wish)(?: to)?|\bplease"
    r"|\b(?:can|could|would|will) you(?: please| kindly)?|\bhelp me(?: to)?)"
    r"(?: (?:request|get|have|make|file|apply for|a|an|the|for|my|full|to))*"
)
PEOPLE = (
    r"(?:son|daughter|kids?|child(?:ren)?|baby|toddler|wife|husband|spouse|fianc[eé]e?|partner|girlfriend|boyfriend|mother|father"
    r"|mom|mum|dad|parents?|sister|brother|twin|aunt|uncle|cousin|nephew|niece|grandma|grandpa|grandmother|grandfather|in-laws?"
    r"|friend|roommate|flatmate|neighbou?r|boss|manager|colleague|coworker|team|client|customer|guest|teacher|doctor|cat|dog)s?"
    r"(?! (?:tongue|language))"
)
