"""Labelled questions in other words: German, French, Chinese, and three words of English.

A question is named by its set and the beginning of the hash of its text, so that the text itself stays in its source.
The words are ours.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reworded:
    """One question of a labelled set, as somebody else would ask it."""

    german: str
    french: str
    chinese: str
    short: str


def key(text: str) -> str:
    """Return the name of a question."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


BANKING = {
    "dcda7bea": Reworded(
        "Wie bringe ich das kontaktlose Bezahlen zum Laufen?",
        "Comment activer le paiement sans contact ?",
        "怎样才能使用非接触式支付?",
        "make contactless work",
    ),
    "a3f450dd": Reworded(
        "Meine Taschen wurden gestohlen. Ich muss die gestohlene Karte sperren und brauche eine neue.",
        "On m'a volé mes sacs. Je dois bloquer la carte volée et en obtenir une nouvelle.",
        "我的包被偷了, 需要注销被盗的银行卡并补办一张新卡。",
        "cancel stolen card",
    ),
    "173f4425": Reworded(
        "In welche Länder verschickt ihr Karten mit der Post?",
        "Où envoyez-vous les cartes par la poste ?",
        "你们把银行卡邮寄到哪些地方?",
        "card delivery countries",
    ),
    "d4f4bd81": Reworded(
        "Warum habt ihr mir für das Abheben von Bargeld eine Gebühr berechnet?",
        "Pourquoi m'avez-vous facturé un retrait d'espèces ?",
        "为什么取现金要收我手续费?",
        "cash withdrawal charge",
    ),
    "c8c22a7d": Reworded(
        "Meine Karte funktioniert nicht",
        "Ma carte ne fonctionne pas",
        "我的卡用不了",
        "card not working",
    ),
    "b93793d1": Reworded(
        "Meine Karte läuft bald ab. Wie bekomme ich eine neue?",
        "Ma carte arrive à expiration. Comment en recevoir une autre ?",
        "我的卡快过期了, 怎么换新卡?",
        "replace expiring card",
    ),
    "a030b4a1": Reworded(
        "Ich möchte eine Überweisung stornieren",
        "Je voudrais annuler un virement",
        "我想取消一笔转账",
        "cancel transfer please",
    ),
    "50145de0": Reworded(
        "Mit welchen Währungen kann ich Geld auf mein Konto einzahlen?",
        "Quelles devises puis-je utiliser pour approvisionner mon compte ?",
        "我可以用哪些货币给账户充值?",
        "top-up currencies supported",
    ),
    "7cdaf184": Reworded(
        "Bitte macht die Abbuchung dieses Betrags rückgängig.",
        "Je veux que ce montant soit recrédité sur mon compte.",
        "我要求把这笔钱退回到我的账户。",
        "reverse this payment",
    ),
    "58dffe27": Reworded(
        "Das kontaktlose Zahlen geht auf einmal nicht mehr. Was kann ich tun?",
        "Le sans contact a cessé de marcher sans raison. Que puis-je faire ?",
        "非接触支付突然不能用了, 我该怎么办?",
        "contactless stopped working",
    ),
    "29f4b68c": Reworded(
        "Kann ich meine PIN am Geldautomaten ändern?",
        "Puis-je modifier mon code secret à un distributeur ?",
        "可以在自动取款机上修改密码吗?",
        "change pin ATM",
    ),
    "b1035f5d": Reworded(
        "Darf ich mit einer Bankkarte Guthaben aufladen?",
        "Est-il possible de recharger avec une carte bancaire ?",
        "可以用银行卡充值吗?",
        "top-up by card",
    ),
    "471e7b22": Reworded(
        "Was mache ich, wenn meine PIN gesperrt ist?",
        "Que faire quand mon code PIN est bloqué ?",
        "PIN码被锁定了怎么办?",
        "PIN blocked help",
    ),
    "8cc97e5f": Reworded(
        "Die App lässt mich nicht in mein Konto.",
        "L'application ne me laisse pas accéder à mon compte.",
        "应用程序不让我登录我的账户。",
        "app login blocked",
    ),
    "5c7d6dfb": Reworded(
        "Ich habe Geld aufgeladen, aber es ist noch in Bearbeitung. Was soll ich tun, ich will jetzt einkaufen?",
        "J'ai rechargé mon compte mais les fonds sont toujours en attente, alors que je veux acheter tout de suite.",
        "我充值了但资金一直处于待处理状态, 我现在就想买东西, 怎么办?",
        "top-up still pending",
    ),
    "210c8fee": Reworded(
        "Welche Unterlagen braucht ihr, um meine Identität zu prüfen?",
        "De quoi avez-vous besoin pour vérifier mon identité ?",
        "验证我的身份需要哪些材料?",
        "identity verification documents",
    ),
    "a8acf28a": Reworded(
        "Kann ich mein Konto per Banküberweisung aufladen?",
        "Puis-je alimenter mon compte par virement bancaire ?",
        "我能通过银行转账给账户充值吗?",
        "transfer top-up possible",
    ),
    "ee6faacd": Reworded(
        "Wie tausche ich Geld in eine andere Währung?",
        "Comment changer de l'argent dans une autre devise ?",
        "怎么兑换外币?",
        "exchange foreign currency",
    ),
    "33b2c8e8": Reworded(
        "Wo kann ich Geld abheben?",
        "Où puis-je retirer de l'argent ?",
        "我想取钱, 可以去哪里取?",
        "withdraw money where",
    ),
    "5b912437": Reworded(
        "Warum wird meine Überweisung abgelehnt, obwohl alle Angaben stimmen?",
        "Pourquoi mon virement est-il refusé alors que toutes les informations sont correctes ?",
        "所有信息都填对了, 为什么我的转账还是被拒绝?",
        "transfer declined why",
    ),
    "ef70e36a": Reworded(
        "Warum ist der Wechselkurs meiner Kartenzahlung falsch?",
        "Pourquoi le taux de change de mon paiement par carte est-il erroné ?",
        "为什么我刷卡付款的汇率不对?",
        "wrong exchange rate",
    ),
}
"""Questions of bank customers."""

AGENT_RULES = {
    "49eaf7e0": Reworded(
        "Wenn ich die Strecke zwischen zwei Städten über Postleitzahlen schätze und prüfe, ob der Sprit reicht",
        "Estimer la distance entre deux villes par code postal et savoir si le carburant suffit",
        "用邮政编码估算两座城市之间的距离并判断燃油是否够用",
        "distance fuel zipcode",
    ),
    "e216a181": Reworded(
        "Neuigkeiten zum Zustand des Fahrzeugs in sozialen Medien teilen und das Wichtigste hervorheben",
        "Publier l'état du véhicule sur les réseaux sociaux en soulignant l'essentiel",
        "在社交媒体上分享车辆状态并突出重点",
        "tweet vehicle status",
    ),
    "ca54d379": Reworded(
        "Lieber vorher tanken, wenn unklar ist, ob die Reichweite für die Fahrt reicht",
        "Faire le plein à l'avance si l'on n'est pas sûr que l'autonomie suffise pour le trajet",
        "如果不确定续航里程够不够, 就提前加油",
        "refuel before trip",
    ),
    "31f15347": Reworded(
        "Der Benutzer will seine beobachteten Aktien ansehen und vielleicht handeln",
        "L'utilisateur veut consulter sa liste d'actions suivies et éventuellement agir",
        "用户想查看自选股并可能进行操作",
        "review watchlist stocks",
    ),
    "d82ca5c4": Reworded(
        "Eine Aufgabe, bei der vorher etwas erledigt sein muss, etwa Flug buchen vor dem Kauf einer Versicherung",
        "Une tâche dont les étapes préalables doivent être faites avant, comme réserver le vol avant l'assurance",
        "任务需要先完成前置步骤, 例如先订机票再买保险",
        "booking before insurance",
    ),
    "03f57e5b": Reworded(
        "Vor einem Aktienkauf prüfen, ob genug Geld auf dem Konto ist",
        "Vérifier que les fonds suffisent avant d'acheter des actions",
        "购买股票之前先确认用户资金是否充足",
        "funds before stock-purchase",
    ),
    "e841d711": Reworded(
        "Dateien mit bestimmten Namen in einem Ordner suchen und dann vergleichen",
        "Chercher des fichiers par leur nom dans un dossier pour les comparer",
        "在目录中查找特定名称的文件并进行比较",
        "find compare files",
    ),
    "82b96929": Reworded(
        "Der Benutzer verlangt eine Buchung, die Kontodaten braucht, etwa Abhebung oder Überweisung",
        "L'utilisateur demande une opération qui exige les données du compte, retrait ou virement",
        "用户要求取款或转账等需要账户信息的交易",
        "transaction account information",
    ),
    "93df6e6a": Reworded(
        "Ein Aufruf der Schnittstelle scheitert wegen ungültiger Parameter, etwa Buchung nicht gefunden",
        "Un appel d'API échoue à cause de paramètres invalides, par exemple réservation introuvable",
        "API调用因参数无效或缺失而失败, 例如找不到预订",
        "booking not found",
    ),
    "2339e7ca": Reworded(
        "Der Benutzer möchte Kontostand und hinterlegte Karten im Einzelnen sehen",
        "L'utilisateur demande le détail de son compte, solde et cartes liées",
        "用户要求查看账户余额和绑定银行卡的详细信息",
        "balance linked cards",
    ),
}
"""When a lesson for an agent applies."""

DOCSTRINGS = {
    "4b8f4d36": Reworded(
        "Das Datum im ISO-Format als Text zurückgeben",
        "Renvoyer la date au format ISO",
        "返回ISO格式的日期字符串",
        "ISO date string",
    ),
    "28507c4b": Reworded(
        "Prüfen, ob der Selektor auf diesem Betriebssystem benutzt werden kann",
        "Vérifier si le sélecteur est utilisable selon le système d'exploitation",
        "检查当前操作系统能否使用该选择器",
        "selector usable check",
    ),
    "cb93d106": Reworded(
        "Eine Ausnahme für nicht unterstützte Typen auslösen",
        "Lever une exception pour les types non gérés",
        "对未实现的类型抛出异常",
        "unimplemented type exception",
    ),
    "9a42b5fa": Reworded(
        "Zu einem Pfad alle übergeordneten Verzeichnisse erzeugen",
        "Produire tous les répertoires parents d'un chemin",
        "生成某个路径的所有上级目录",
        "all path parents",
    ),
    "b4cfc89e": Reworded(
        "Daten der Kanalbindung für die aktuelle Verbindung holen",
        "Obtenir les données de liaison de canal de la connexion en cours",
        "获取当前连接的通道绑定数据",
        "channel binding data",
    ),
    "e8d2ab3f": Reworded(
        "Die Hardware-Adresse unter Windows ermitteln",
        "Obtenir l'adresse matérielle sous Windows",
        "在Windows上获取硬件地址",
        "Windows hardware address",
    ),
    "10ef9908": Reworded(
        "Zähler voneinander abziehen statt zu ersetzen, das Ergebnis darf negativ werden",
        "Soustraire les compteurs au lieu de les remplacer, même en dessous de zéro",
        "像更新字典一样但减去计数, 结果可以小于零",
        "subtract counter counts",
    ),
    "16e5ae67": Reworded(
        "Eine Meldung zur Fehlersuche ausgeben, wenn die Debug-Stufe größer als null ist",
        "Afficher un message de débogage quand le niveau est supérieur à zéro",
        "当调试级别大于0时打印调试信息",
        "print debug message",
    ),
    "0884bcb7": Reworded(
        "Die Nachricht in Bytes umwandeln und per sendmail verschicken",
        "Convertir le message en octets et le passer à sendmail",
        "把邮件消息转换为字节串并交给sendmail发送",
        "send message bytes",
    ),
    "f9669ab3": Reworded(
        "Einen zufälligen, für URLs geeigneten Text in Base64 erzeugen",
        "Renvoyer une chaîne aléatoire compatible URL, codée en Base64",
        "返回一个随机的URL安全Base64文本",
        "random urlsafe text",
    ),
    "9a0517eb": Reworded(
        "Den ganzzahligen Wert einer hexadezimalen Zahl bestimmen",
        "Obtenir la valeur entière d'un nombre hexadécimal",
        "求十六进制数的整数值",
        "hexadecimal to integer",
    ),
    "2dc28ec4": Reworded(
        "Die nächste Zufallszahl zwischen 0 und 1 holen",
        "Obtenir le prochain nombre aléatoire entre 0 et 1",
        "取得0到1之间的下一个随机数",
        "next random number",
    ),
    "f60eb54b": Reworded(
        "Eine Kopfzeile der Anfrage an den Server senden",
        "Envoyer une ligne d'en-tête de requête au serveur",
        "向服务器发送一行请求头",
        "send request header",
    ),
}
"""What a function of the standard library does."""

REWORDED = {"banking77": BANKING, "reme bfcl": AGENT_RULES, "code docstrings": DOCSTRINGS}
"""By set, then by question."""
