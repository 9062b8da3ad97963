"""The words that search treats alike or passes over, as data.

Changing a line changes the terms of texts that are indexed already: see `memory/terms.py`.
"""

STOP_ENGLISH = """
a about above after again all also am an and any are arent as at be because been before being below between both but by
can cant could couldnt d did didnt do does doesnt doing dont down during each few for from further had hadnt has hasnt have
havent having he her here hers herself hes hey hi him himself his how i id if ill im in into is isnt it its itself ive just
let lets ll lot m me more most much my myself no nor not now of off on once only or other our ours ourselves out over own re
really s same shall she should shouldnt so some such t than that thats the their theirs them themselves then there theres
these they theyre thing things this those through to too under until up us ve very was wasnt we were werent what whats when
where which while who whom whose why will with wont would wouldnt wow yeah you your youre yours yourself yourselves
get getting got hello ok okay please something
"""

STOP_CHINESE = """
什么时候 什么 怎么样 怎么 怎样 多少 哪里 哪儿 哪个 哪些 哪天 几点 为什么 是不是 有没有 能不能 可以 还记得 记得 记不记得 告诉
这个 那个 这些 那些 一个 一下 一些 我们 你们 他们 她们 它们 咱们 自己 就是 还是 或者 因为 所以 如果 但是 而且 以及 已经 请问
"""
"""Whole words: what stands on both sides of one is no pair."""

STOP_CHARACTERS = "的了吗呢吧啊呀嘛哦么我你您他她它是在和与跟把被给让也都就还又很最太这那哪谁之着过到对个一不有说想要会"
"""Characters that say little alone, and are no stop words: 过 is part of 过敏, 对 of 对象."""

SAME_ENGLISH = """
went gone>go bought>buy took taken>take made>make gave given>give saw seen>see met>meet told>tell said>say felt>feel
thought>think found>find left>leave kept>keep brought>bring taught>teach caught>catch wrote written>write ran>run
began begun>begin came>come became>become knew known>know grew grown>grow drew drawn>draw flew flown>fly drove driven>drive
rode ridden>ride rose risen>rise chose chosen>choose spoke spoken>speak broke broken>break woke woken>wake wore worn>wear
won>win lost>lose sold>sell sent>send spent>spend built>build held>hold heard>hear slept>sleep paid>pay sang sung>sing
swam swum>swim drank drunk>drink ate eaten>eat fell fallen>fall forgot forgotten>forget hid hidden>hide led>lead lent>lend
lit>light meant>mean sat>sit stood>stand stole stolen>steal stuck>stick threw thrown>throw understood>understand shot>shoot
fought>fight sought>seek done>do slid>slide shook shaken>shake bit bitten>bite blew blown>blow bent>bend dealt>deal dug>dig
fed>feed froze frozen>freeze laid>lay rang rung>ring sank sunk>sink struck>strike swept>sweep swore sworn>swear tore torn>tear
children kids kid>child men>man women>woman people persons>person feet>foot teeth>tooth mice>mouse wives>wife knives>knife
better best>good worse worst>bad mom moms mum mums mommy>mother dad dads daddy>father grandma>grandmother grandpa>grandfather
pic pics photos picture pictures>photo tv>television bike bikes>bicycle film films>movie favourite favourites>favorite
colour colours>color holiday holidays>vacation jobs career careers>job buddy buddies pal pals>friend
colleague colleagues coworker coworkers mates>workmate phone phones mobile cellphone>telephone fridge>refrigerator
two>2 three>3 four>4 five>5 six>6 seven>7 eight>8 nine>9 ten>10 eleven>11 twelve>12
"""

SAME_CHINESE = """
妈妈 老妈 母亲 我妈 妈咪>妈妈 | 爸爸 老爸 父亲 我爸 爹>爸爸 | 老婆 媳妇 妻子 太太 爱人>配偶 | 老公 丈夫>配偶 | 女儿 闺女>女儿
爷爷 祖父>爷爷 | 奶奶 祖母>奶奶 | 外公 姥爷>外公 | 外婆 姥姥>外婆 | 孩子 娃 小孩 宝宝>孩子 | 女朋友 男朋友 对象 恋人>恋人
工资 薪水 薪资>工资 | 手机号 电话号码 电话 手机尾号>电话 | 上班 工作 任职>工作 | 照片 相片 图片>照片 | 酒店 宾馆 旅馆>酒店
公司 单位>公司 | 医生 大夫>医生 | 快递 包裹>快递 | 车子 汽车 座驾 轿车>汽车 | 电脑 笔记本>电脑 | 住在 住址 家住 搬到 定居>居住
"""
