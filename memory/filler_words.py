"""The fillers themselves, as data: between bars, any number a line.

Not here, because they say something even where nothing was asked: yes, no, please, again, later, right, 是, 不, 对, 不用, 继续;
and greetings, which open a talk: a window must not begin with the answer to one that is gone.
"""

ENGLISH = """
ok | okay | okey | okie | okey dokey | okie dokie | k | kk | kay | oki | alright | all right | fine | good | great | nice
cool | perfect | awesome | excellent | amazing | wonderful | lovely | sweet | neat | brilliant | fantastic | sounds good
looks good | lgtm | all good | that is great | thats great | that is fine | thats fine | its ok | its fine | good to know
got it | gotcha | i see | i understand | understood | noted | makes sense | roger | roger that | copy that | ack
will do | sure | sure thing | of course | fair enough | no problem | no worries | np | you are welcome | youre welcome | yw
thanks | thank you | thank u | thx | tx | ty | tysm | tks | cheers | much appreciated | appreciated | appreciate it
thanks a lot | thanks so much | thank you so much | thank you very much | many thanks | thanks again | thank you again
thanks for your help | thank you for your help | thanks for the help | thank you for the help
hm | mhm | mm | uh huh | uhhuh | uh | um | er | ah | aha | oh | ooh | wow | whoa | yay | haha | hehe | hihi
lol | lmao | rofl | xd | omg | good night | bye | bye bye | goodbye | see you | see ya | cya
talk to you later | see you later | have a nice day | have a good day | take care
"""

CHINESE = """
好 | 好的 | 好滴 | 好嘞 | 好哒 | 好呀 | 好啊 | 好吧 | 好了 | 好勒 | 好咧 | 行 | 行吧 | 行的 | 可 | 可以 | 可以的
没问题 | 妥 | 妥了 | 妥妥的 | 收到 | 收到了 | 收悉 | 已收到 | 明白 | 明白了 | 了解 | 了解了 | 知道了 | 知道啦 | 晓得了
懂了 | 懂 | 清楚了 | 原来如此 | 这样啊 | 这样子啊 | 嗯 | 嗯呐 | 嗯哼 | 恩 | 唔 | 噢 | 哦 | 喔 | 啊 | 呃 | 额 | 哎 | 诶 | 欸
哈 | 嘿 | 嘻 | 呵 | 哇 | 呀 | 啦 | 谢谢 | 谢谢你 | 谢谢您 | 谢了 | 谢啦 | 多谢 | 感谢 | 非常感谢 | 十分感谢 | 感谢你 | 感谢您
谢谢大家 | 感恩 | 辛苦 | 辛苦了 | 辛苦啦 | 麻烦了 | 不客气 | 不用谢 | 没事 | 没事的 | 客气了
不错 | 很好 | 太好了 | 真好 | 真棒 | 太棒了 | 棒 | 赞 | 厉害 | 牛 | 完美
晚安 | 再见 | 拜拜 | 拜 | 回见 | 回头见 | 明天见
"""
