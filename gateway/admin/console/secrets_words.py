"""What the page of secrets says."""

from __future__ import annotations

from gateway.admin.console.words import Catalogue

WORDS: Catalogue = {
    "secrets.title": {"en": "Secrets", "zh": "密钥"},
    "secrets.title.told": {
        "en": "Tokens and keys that settings refer to; they go in here and never come out.",
        "zh": "供设置引用的令牌与密钥；只能存入，不能取出。",
    },
    "secrets.lead": {
        "en": "Sealed in the database under a key that only the gateway's environment holds. Nobody can look at one again.",
        "zh": "以仅存于网关环境中的主密钥加密后保存在数据库里。任何人都无法再次查看。",
    },
    "secrets.none": {"en": "No secret is stored yet", "zh": "尚未保存任何密钥"},
    "secrets.none.told": {
        "en": "One entered in a channel's or agent's form comes here by itself. One stored here is referred to as vault:NAME.",
        "zh": "在渠道或智能体的表单中输入令牌后会自动存到这里；也可以现在存入，并以 vault:名称 引用。",
    },
    "secrets.name": {"en": "Name", "zh": "名称"},
    "secrets.name.help": {
        "en": "Letters, digits, dots, - and _. One that begins with channels.NAME. is that channel's.",
        "zh": "字母、数字、点、- 和 _。以 channels.名称. 开头的属于该渠道。",
    },
    "secrets.value": {"en": "Secret", "zh": "密钥内容"},
    "secrets.reference": {"en": "In settings", "zh": "设置中的写法"},
    "secrets.when": {"en": "Stored", "zh": "存入时间"},
    "secrets.who": {"en": "By", "zh": "操作者"},
    "secrets.used": {"en": "Used by", "zh": "使用位置"},
    "secrets.unused": {"en": "nothing", "zh": "未使用"},
    "secrets.unreadable": {"en": "its key is not here", "zh": "缺少对应的主密钥"},
    "secrets.put": {"en": "Store a secret", "zh": "存入密钥"},
    "secrets.put.told": {
        "en": "One of the same name is replaced; what refers to it uses the new one within two seconds.",
        "zh": "同名密钥会被替换；引用它的设置两秒内改用新值。",
    },
    "secrets.store": {"en": "Store", "zh": "存入"},
    "secrets.stored": {"en": "The secret is stored.", "zh": "密钥已存入。"},
    "secrets.remove": {"en": "Take out", "zh": "移除"},
    "secrets.remove.ask": {"en": "Take the secret {name} out?", "zh": "移除密钥 {name}？"},
    "secrets.remove.told": {
        "en": "It can't be brought back; to go back to a revision that refers to it, it has to be stored again first.",
        "zh": "移除后无法恢复；如需回退到引用它的修订，须先重新存入。",
    },
    "secrets.removed": {"en": "The secret is taken out.", "zh": "密钥已移除。"},
}
