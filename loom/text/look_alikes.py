"""Characters that nobody sees, and those that look like Latin letters, dashes and dots.
Written by script/look_alikes from Unicode's tables; change that script, not this file.

Parts of the data: Copyright 1991-2025 Unicode, Inc., https://www.unicode.org/license.txt
"""

from collections.abc import Iterator
from typing import Final

# Hexadecimal numbers of characters and ranges. UNSEEN: what takes no room or shows nothing:
# blanks, format, private, unassigned and combining characters, fillers.
UNSEEN: Final = (
    "0-9 e-1b 1f-20 7f-84 86-a0 ad 300-36f 378-379 380-383 38b 38d 3a2 483-489 530 557-558 "
    "58b-58c 590-5bd 5bf 5c1-5c2 5c4-5c5 5c7-5cf 5eb-5ee 5f5-605 610-61a 61c 64b-65f 670 "
    "6d6-6dd 6df-6e4 6e7-6e8 6ea-6ed 70e-70f 711 730-74c 7a6-7b0 7b2-7bf 7eb-7f3 7fb-7fd "
    "816-819 81b-823 825-827 829-82f 83f 859-85d 85f 86b-86f 88f-89f 8ca-903 93a-93c "
    "93e-94f 951-957 962-963 981-984 98d-98e 991-992 9a9 9b1 9b3-9b5 9ba-9bc 9be-9cd "
    "9cf-9db 9de 9e2-9e5 9fe-a04 a0b-a0e a11-a12 a29 a31 a34 a37 a3a-a58 a5d a5f-a65 "
    "a70-a71 a75 a77-a84 a8e a92 aa9 ab1 ab4 aba-abc abe-acf ad1-adf ae2-ae5 af2-af8 "
    "afa-b04 b0d-b0e b11-b12 b29 b31 b34 b3a-b3c b3e-b5b b5e b62-b65 b78-b82 b84 b8b-b8d "
    "b91 b96-b98 b9b b9d ba0-ba2 ba5-ba7 bab-bad bba-bcf bd1-be5 bfb-c04 c0d c11 c29 "
    "c3a-c3c c3e-c57 c5b-c5c c5e-c5f c62-c65 c70-c76 c81-c83 c8d c91 ca9 cb4 cba-cbc "
    "cbe-cdc cdf ce2-ce5 cf0 cf3-d03 d0d d11 d3b-d3c d3e-d4d d50-d53 d57 d62-d65 d80-d84 "
    "d97-d99 db2 dbc dbe-dbf dc7-de5 df0-df3 df5-e00 e31 e34-e3e e47-e4e e5c-e80 e83 e85 "
    "e8b ea4 ea6 eb1 eb4-ebc ebe-ebf ec5 ec7-ecf eda-edb ee0-eff f18-f19 f35 f37 f39 "
    "f3e-f3f f48 f6d-f84 f86-f87 f8d-fbd fc6 fcd fdb-fff 102b-103e 1056-1059 105e-1060 "
    "1062-1064 1067-106d 1071-1074 1082-108d 108f 109a-109d 10c6 10c8-10cc 10ce-10cf "
    "115f-1160 1249 124e-124f 1257 1259 125e-125f 1289 128e-128f 12b1 12b6-12b7 12bf 12c1 "
    "12c6-12c7 12d7 1311 1316-1317 135b-135f 137d-137f 139a-139f 13f6-13f7 13fe-13ff 1680 "
    "169d-169f 16f9-16ff 1712-171e 1732-1734 1737-173f 1752-175f 176d 1771-177f 17b4-17d3 "
    "17dd-17df 17ea-17ef 17fa-17ff 180b-180f 181a-181f 1879-187f 1885-1886 18a9 18ab-18af "
    "18f6-18ff 191f-193f 1941-1943 196e-196f 1975-197f 19ac-19af 19ca-19cf 19db-19dd "
    "1a17-1a1d 1a55-1a7f 1a8a-1a8f 1a9a-1a9f 1aae-1b04 1b34-1b44 1b4d-1b4f 1b6b-1b73 "
    "1b7f-1b82 1ba1-1bad 1be6-1bfb 1c24-1c3a 1c4a-1c4c 1c89-1c8f 1cbb-1cbc 1cc8-1cd2 "
    "1cd4-1ce8 1ced 1cf4 1cf7-1cf9 1cfb-1cff 1dc0-1dff 1f16-1f17 1f1e-1f1f 1f46-1f47 "
    "1f4e-1f4f 1f58 1f5a 1f5c 1f5e 1f7e-1f7f 1fb5 1fc5 1fd4-1fd5 1fdc 1ff0-1ff1 1ff5 "
    "1fff-200f 202a-202f 205f-206f 2072-2073 208f 209d-209f 20c1-20ff 218c-218f 2427-243f "
    "244b-245f 2800 2b74-2b75 2b96 2cef-2cf1 2cf4-2cf8 2d26 2d28-2d2c 2d2e-2d2f 2d68-2d6e "
    "2d71-2d7f 2d97-2d9f 2da7 2daf 2db7 2dbf 2dc7 2dcf 2dd7 2ddf-2dff 2e5e-2e7f 2e9a "
    "2ef4-2eff 2fd6-2fef 2ffc-3000 302a-302f 3040 3097-309a 3100-3104 3130 3164 318f "
    "31e4-31ef 321f a48d-a48f a4c7-a4cf a62c-a63f a66f-a672 a674-a67d a69e-a69f a6f0-a6f1 "
    "a6f8-a6ff a7cb-a7cf a7d2 a7d4 a7da-a7f1 a802 a806 a80b a823-a827 a82c-a82f a83a-a83f "
    "a878-a881 a8b4-a8cd a8da-a8f1 a8ff a926-a92d a947-a95e a97d-a983 a9b3-a9c0 a9ce "
    "a9da-a9dd a9e5 a9ff aa29-aa3f aa43 aa4c-aa4f aa5a-aa5b aa7b-aa7d aab0 aab2-aab4 "
    "aab7-aab8 aabe-aabf aac1 aac3-aada aaeb-aaef aaf5-ab00 ab07-ab08 ab0f-ab10 ab17-ab1f "
    "ab27 ab2f ab6c-ab6f abe3-abea abec-abef abfa-abff d7a4-d7af d7c7-d7ca d7fc-f8ff "
    "fa6e-fa6f fada-faff fb07-fb12 fb18-fb1c fb1e fb37 fb3d fb3f fb42 fb45 fbc3-fbd2 "
    "fd90-fd91 fdc8-fdce fdd0-fdef fe00-fe0f fe1a-fe2f fe31 fe53 fe67 fe6c-fe6f fe75 "
    "fefd-ff00 ffa0 ffbf-ffc1 ffc8-ffc9 ffd0-ffd1 ffd8-ffd9 ffdd-ffdf ffe7 ffef-fffc "
    "fffe-ffff 1000c 10027 1003b 1003e 1004e-1004f 1005e-1007f 100fb-100ff 10103-10106 "
    "10134-10136 1018f 1019d-1019f 101a1-101cf 101fd-1027f 1029d-1029f 102d1-102e0 "
    "102fc-102ff 10324-1032c 1034b-1034f 10376-1037f 1039e 103c4-103c7 103d6-103ff "
    "1049e-1049f 104aa-104af 104d4-104d7 104fc-104ff 10528-1052f 10564-1056e 1057b 1058b "
    "10593 10596 105a2 105b2 105ba 105bd-105ff 10737-1073f 10756-1075f 10768-1077f 10786 "
    "107b1 107bb-107ff 10806-10807 10809 10836 10839-1083b 1083d-1083e 10856 1089f-108a6 "
    "108b0-108df 108f3 108f6-108fa 1091c-1091e 1093a-1093e 10940-1097f 109b8-109bb "
    "109d0-109d1 10a01-10a0f 10a14 10a18 10a36-10a3f 10a49-10a4f 10a59-10a5f 10aa0-10abf "
    "10ae5-10aea 10af7-10aff 10b36-10b38 10b56-10b57 10b73-10b77 10b92-10b98 10b9d-10ba8 "
    "10bb0-10bff 10c49-10c7f 10cb3-10cbf 10cf3-10cf9 10d24-10d2f 10d3a-10e5f 10e7f "
    "10eaa-10eac 10eae-10eaf 10eb2-10eff 10f28-10f2f 10f46-10f50 10f5a-10f6f 10f82-10f85 "
    "10f8a-10faf 10fcc-10fdf 10ff7-11002 11038-11046 1104e-11051 11070 11073-11074 "
    "11076-11082 110b0-110ba 110bd 110c2-110cf 110e9-110ef 110fa-11102 11127-11135 "
    "11145-11146 11148-1114f 11173 11177-11182 111b3-111c0 111c9-111cc 111ce-111cf 111e0 "
    "111f5-111ff 11212 1122c-11237 1123e-1127f 11287 11289 1128e 1129e 112aa-112af "
    "112df-112ef 112fa-11304 1130d-1130e 11311-11312 11329 11331 11334 1133a-1133c "
    "1133e-1134f 11351-1135c 11362-113ff 11435-11446 1145c 1145e 11462-1147f 114b0-114c3 "
    "114c8-114cf 114da-1157f 115af-115c0 115dc-115ff 11630-11640 11645-1164f 1165a-1165f "
    "1166d-1167f 116ab-116b7 116ba-116bf 116ca-116ff 1171b-1172f 11747-117ff 1182c-1183a "
    "1183c-1189f 118f3-118fe 11907-11908 1190a-1190b 11914 11917 11930-1193e 11940 "
    "11942-11943 11947-1194f 1195a-1199f 119a8-119a9 119d1-119e0 119e4-119ff 11a01-11a0a "
    "11a33-11a39 11a3b-11a3e 11a47-11a4f 11a51-11a5b 11a8a-11a99 11aa3-11aaf 11af9-11bff "
    "11c09 11c2f-11c3f 11c46-11c4f 11c6d-11c6f 11c90-11cff 11d07 11d0a 11d31-11d45 "
    "11d47-11d4f 11d5a-11d5f 11d66 11d69 11d8a-11d97 11d99-11d9f 11daa-11edf 11ef3-11ef6 "
    "11ef9-11faf 11fb1-11fbf 11ff2-11ffe 1239a-123ff 1246f 12475-1247f 12544-12f8f "
    "12ff3-12fff 1342f-143ff 14647-167ff 16a39-16a3f 16a5f 16a6a-16a6d 16abf 16aca-16acf "
    "16aee-16af4 16af6-16aff 16b30-16b36 16b46-16b4f 16b5a 16b62 16b78-16b7c 16b90-16e3f "
    "16e9b-16eff 16f4b-16f4f 16f51-16f92 16fa0-16fdf 16fe4-16fff 187f8-187ff 18cd6-18cff "
    "18d09-1afef 1aff4 1affc 1afff 1b123-1b14f 1b153-1b163 1b168-1b16f 1b2fc-1bbff "
    "1bc6b-1bc6f 1bc7d-1bc7f 1bc89-1bc8f 1bc9a-1bc9b 1bc9d-1bc9e 1bca0-1cf4f 1cfc4-1cfff "
    "1d0f6-1d0ff 1d127-1d128 1d159 1d165-1d169 1d16d-1d182 1d185-1d18b 1d1aa-1d1ad "
    "1d1eb-1d1ff 1d242-1d244 1d246-1d2df 1d2f4-1d2ff 1d357-1d35f 1d379-1d3ff 1d455 1d49d "
    "1d4a0-1d4a1 1d4a3-1d4a4 1d4a7-1d4a8 1d4ad 1d4ba 1d4bc 1d4c4 1d506 1d50b-1d50c 1d515 "
    "1d51d 1d53a 1d53f 1d545 1d547-1d549 1d551 1d6a6-1d6a7 1d7cc-1d7cd 1da00-1da36 "
    "1da3b-1da6c 1da75 1da84 1da8c-1deff 1df1f-1e0ff 1e12d-1e136 1e13e-1e13f 1e14a-1e14d "
    "1e150-1e28f 1e2ae-1e2bf 1e2ec-1e2ef 1e2fa-1e2fe 1e300-1e7df 1e7e7 1e7ec 1e7ef 1e7ff "
    "1e8c5-1e8c6 1e8d0-1e8ff 1e944-1e94a 1e94c-1e94f 1e95a-1e95d 1e960-1ec70 1ecb5-1ed00 "
    "1ed3e-1edff 1ee04 1ee20 1ee23 1ee25-1ee26 1ee28 1ee33 1ee38 1ee3a 1ee3c-1ee41 "
    "1ee43-1ee46 1ee48 1ee4a 1ee4c 1ee50 1ee53 1ee55-1ee56 1ee58 1ee5a 1ee5c 1ee5e 1ee60 "
    "1ee63 1ee65-1ee66 1ee6b 1ee73 1ee78 1ee7d 1ee7f 1ee8a 1ee9c-1eea0 1eea4 1eeaa "
    "1eebc-1eeef 1eef2-1efff 1f02c-1f02f 1f094-1f09f 1f0af-1f0b0 1f0c0 1f0d0 1f0f6-1f0ff "
    "1f1ae-1f1e5 1f203-1f20f 1f23c-1f23f 1f249-1f24f 1f252-1f25f 1f266-1f2ff 1f6d8-1f6dc "
    "1f6ed-1f6ef 1f6fd-1f6ff 1f774-1f77f 1f7d9-1f7df 1f7ec-1f7ef 1f7f1-1f7ff 1f80c-1f80f "
    "1f848-1f84f 1f85a-1f85f 1f888-1f88f 1f8ae-1f8af 1f8b2-1f8ff 1fa54-1fa5f 1fa6e-1fa6f "
    "1fa75-1fa77 1fa7d-1fa7f 1fa87-1fa8f 1faad-1faaf 1fabb-1fabf 1fac6-1facf 1fada-1fadf "
    "1fae8-1faef 1faf7-1faff 1fb93 1fbcb-1fbef 1fbfa-1ffff 2a6e0-2a6ff 2b739-2b73f "
    "2b81e-2b81f 2cea2-2ceaf 2ebe1-2f7ff 2fa1e-2ffff 3134b-10ffff"
)
DASHES: Final = (
    "2d 2d7 5be 6d4 1173 1400 1806 2010-2015 2043 207b 208b 2212 23af 23bc 2500-2501 "
    "2504-2505 2508-2509 254c-254d 2574 2576 2578 257a 257c 257e 2796 2cba 2e0f 2e17 2e1a "
    "2e40 2f00 3030 30fc 3127 3161 31d0 4e00 fe58 fe63 ff0d ff70 ffda 10110 10191 10ead "
    "11052"
)
DOTS: Final = (
    "b7 387 1427 16eb 2022 2024 2027 2219 22c5-22c6 23fa 25cf 25e6 26ab 2981 2b24 2e31 2e33 "
    "30fb 318d a78f ff65 10101"
)

# The characters that look like each letter, besides the letter itself.
LETTERS: Final = {
    "A": (
        "c0-c5 100 102 104 1cd 1de 1e0 1fa 200 202 226 23a 386 391 410 4d0 4d2 13aa 15c5 "
        "1d00 1d2c 1e00 1ea0 1ea2 1ea4 1ea6 1ea8 1eaa 1eac 1eae 1eb0 1eb2 1eb4 1eb6 "
        "1f08-1f0f 1f88-1f8f 1fb8-1fbc 212b 24b6 a4ee ff21 102a0 16f40 1d400 1d434 1d468 "
        "1d49c 1d4d0 1d504 1d538 1d56c 1d5a0 1d5d4 1d608 1d63c 1d670 1d6a8 1d6e2 1d71c "
        "1d756 1d790 1f110 1f130 1f150 1f170 1f1e6"
    ),
    "B": (
        "181 243 299 392 412 13f4 15f7 1d2e 1e02 1e04 1e06 212c 24b7 2c82 a4d0 a796 a7b4 "
        "ff22 10282 102a1 10301 1d401 1d435 1d469 1d4d1 1d505 1d539 1d56d 1d5a1 1d5d5 1d609 "
        "1d63d 1d671 1d6a9 1d6e3 1d71d 1d757 1d791 1f111 1f131 1f151 1f171 1f1e7"
    ),
    "C": (
        "c7 106 108 10a 10c 187 23b 3f9 421 4aa 13df 1e08 20a1 2102 212d 216d 24b8 2ca4 "
        "a4da a792 a7c4 a7f2 ff23 102a2 10302 10415 1051c 118e9 118f2 1d402 1d436 1d46a "
        "1d49e 1d4d2 1d56e 1d5a2 1d5d6 1d60a 1d63e 1d672 1f112 1f12b 1f132 1f152 1f16e "
        "1f172 1f1e8 1f74c"
    ),
    "D": (
        "d0 10e 110 189-18b 1c5 1f2 13a0 15de 15ea 1d05 1d30 1e0a 1e0c 1e0e 1e10 1e12 2145 "
        "216e 24b9 a4d3 a7c7 ff24 1d403 1d437 1d46b 1d49f 1d4d3 1d507 1d53b 1d56f 1d5a3 "
        "1d5d7 1d60b 1d63f 1d673 1f113 1f133 1f153 1f173 1f1e9"
    ),
    "E": (
        "c8-cb 112 114 116 118 11a 204 206 228 246 388 395 400-401 415 4d6 13ac 1d07 1d31 "
        "1e14 1e16 1e18 1e1a 1e1c 1eb8 1eba 1ebc 1ebe 1ec0 1ec2 1ec4 1ec6 1f18-1f1d "
        "1fc8-1fc9 2130 22ff 24ba 2d39 a4f0 ff25 10286 118a6 118ae 1d404 1d438 1d46c 1d4d4 "
        "1d508 1d53c 1d570 1d5a4 1d5d8 1d60c 1d640 1d674 1d6ac 1d6e6 1d720 1d75a 1d794 "
        "1f114 1f134 1f154 1f174 1f1ea"
    ),
    "F": (
        "191 3dc 15b4 1e1e 2131 24bb a4dd a730 a798 a7f3 ff26 10287 102a5 10525 118a2 118c2 "
        "1d213 1d405 1d439 1d46d 1d4d5 1d509 1d53d 1d571 1d5a5 1d5d9 1d60d 1d641 1d675 "
        "1d7ca 1f115 1f135 1f155 1f175 1f1eb"
    ),
    "G": (
        "11c 11e 120 122 193 1e4 1e6 1f4 262 29b 50c 13c0 13f3 1d33 1e20 24bc a4d6 a7a0 "
        "ff27 1d406 1d43a 1d46e 1d4a2 1d4d6 1d50a 1d53e 1d572 1d5a6 1d5da 1d60e 1d642 1d676 "
        "1f116 1f136 1f156 1f176 1f1ec"
    ),
    "H": (
        "124 126 21e 29c 389 397 41d 4a2 4c7 4c9 13bb 157c 1d34 1d78 1e22 1e24 1e26 1e28 "
        "1e2a 1f28-1f2f 1f98-1f9f 1fca-1fcc 210b-210d 24bd 2c67 2c8e a4e7 a7aa a7f8 ff28 "
        "102cf 1d407 1d43b 1d46f 1d4d7 1d573 1d5a7 1d5db 1d60f 1d643 1d677 1d6ae 1d6e8 "
        "1d722 1d75c 1d796 1f117 1f137 1f157 1f177 1f1ed"
    ),
    "I": (
        "cc-cf 128 12a 12c 12e 130 1cf 208 20a 1d35 1e2c 1e2e 1ec8 1eca 24be 24db a7ae "
        "1f118 1f138 1f158 1f178 1f1ee"
    ),
    "J": (
        "134 248 37f 408 13ab 148d 1d0a 1d36 24bf a4d9 a7b2 ff2a 1d409 1d43d 1d471 1d4a5 "
        "1d4d9 1d50d 1d541 1d575 1d5a9 1d5dd 1d611 1d645 1d679 1f119 1f139 1f159 1f179 "
        "1f1ef"
    ),
    "K": (
        "136 198 1e8 39a 40c 41a 49a 49e 13e6 16d5 1d0b 1d37 1e30 1e32 1e34 20ad 212a 24c0 "
        "2c69 2c94 a4d7 a740 a742 a744 a7a2 ff2b 10518 1d40a 1d43e 1d472 1d4a6 1d4da 1d50e "
        "1d542 1d576 1d5aa 1d5de 1d612 1d646 1d67a 1d6b1 1d6eb 1d725 1d75f 1d799 1f11a "
        "1f13a 1f15a 1f17a 1f1f0"
    ),
    "L": (
        "139 13b 13d 13f 141 1c8 23d 29f 13de 14aa 1d0c 1d38 1e36 1e38 1e3a 1e3c 2112 216c "
        "24c1 2c60 2c62 2cd0 a4e1 a748 a7ad ff2c 1041b 10526 118a3 118b2 16f16 1d22a 1d40b "
        "1d43f 1d473 1d4db 1d50f 1d543 1d577 1d5ab 1d5df 1d613 1d647 1d67b 1df04 1f11b "
        "1f13b 1f15b 1f17b 1f1f1"
    ),
    "M": (
        "39c 3fa 41c 4cd 13b7 15f0 16d6 1d0d 1d39 1e3e 1e40 1e42 2133 216f 24c2 2c6e 2c98 "
        "a4df ff2d 102b0 10311 1d40c 1d440 1d474 1d4dc 1d510 1d544 1d578 1d5ac 1d5e0 1d614 "
        "1d648 1d67c 1d6b3 1d6ed 1d727 1d761 1d79b 1f11c 1f13c 1f15c 1f17c 1f1f2"
    ),
    "N": (
        "d1 143 145 147 19d 1cb 1f8 220 274 39d 1d3a 1e44 1e46 1e48 1e4a 2115 24c3 2c9a "
        "a4e0 a790 a7a4 ff2e 1018e 10513 1d40d 1d441 1d475 1d4a9 1d4dd 1d511 1d579 1d5ad "
        "1d5e1 1d615 1d649 1d67d 1d6b4 1d6ee 1d728 1d762 1d79c 1f11d 1f13d 1f15d 1f17d "
        "1f1f3"
    ),
    "O": (
        "d2-d6 d8 14c 14e 150 19f-1a0 1d1 1ea 1ec 1fe 20c 20e 22a 22c 22e 230 38c 398 39f "
        "3b8 3d1 3f4 41e 472 4e6 4e8 4ea 555 7c0 b20 ce6 12d0 13be 13eb 1d3c 1dbf 1e4c 1e4e "
        "1e50 1e52 1ecc 1ece 1ed0 1ed2 1ed4 1ed6 1ed8 1eda 1edc 1ede 1ee0 1ee2 1f48-1f4d "
        "1ff8-1ff9 2080 2296 229d 236c 24c4 24ea 2c90 2c9e 2d31 2d41 2d54 3007 a4f3 a74a "
        "a74c ff10 ff2f 10292 102ab 10404 104c2 10516 118b5 118e0 1d21a 1d40e 1d442 1d476 "
        "1d4aa 1d4de 1d512 1d546 1d57a 1d5ae 1d5e2 1d616 1d64a 1d67e 1d6af 1d6b6 1d6b9 "
        "1d6c9 1d6dd 1d6e9 1d6f0 1d6f3 1d703 1d717 1d723 1d72a 1d72d 1d73d 1d751 1d75d "
        "1d764 1d767 1d777 1d78b 1d797 1d79e 1d7a1 1d7b1 1d7c5 1d7ce 1d7d8 1d7e2 1d7ec "
        "1d7f6 1f11e 1f13e 1f15e 1f17e 1f1f4 1f714 1fbf0"
    ),
    "P": (
        "1a4 3a1 420 13e2 146d 1d18 1d3e 1e54 1e56 1fec 2119 24c5 2c63 2ca2 2cce a4d1 a750 "
        "a752 a754 ff30 10295 1d40f 1d443 1d477 1d4ab 1d4df 1d513 1d57b 1d5af 1d5e3 1d617 "
        "1d64b 1d67f 1d6b8 1d6f2 1d72c 1d766 1d7a0 1f11f 1f13f 1f15f 1f17f 1f18a 1f1f5"
    ),
    "Q": (
        "211a 24c6 2d55 a756 a758 a7af a7f4 ff31 1d410 1d444 1d478 1d4ac 1d4e0 1d514 1d57c "
        "1d5b0 1d5e4 1d618 1d64c 1d680 1f120 1f140 1f160 1f180 1f1f6"
    ),
    "R": (
        "154 156 158 1a6 210 212 24c 280 13a1 13d2 1587 1d3f 1e58 1e5a 1e5c 1e5e 211b-211d "
        "24c7 2c64 a4e3 a7a6 ab46 ff32 104b4 16f35 1d216 1d411 1d445 1d479 1d4e1 1d57d "
        "1d5b1 1d5e5 1d619 1d64d 1d681 1f121 1f12c 1f141 1f161 1f181 1f1f7"
    ),
    "S": (
        "15a 15c 15e 160 218 405 54f 13d5 13da 1e60 1e62 1e64 1e66 1e68 24c8 2c7e a4e2 a7a8 "
        "a7c5 a7c9 ff33 10296 10420 16f3a 1d412 1d446 1d47a 1d4ae 1d4e2 1d516 1d54a 1d57e "
        "1d5b2 1d5e6 1d61a 1d64e 1d682 1f122 1f12a 1f142 1f162 1f182 1f1f8"
    ),
    "T": (
        "162 164 166 1ac 1ae 21a 23e 3a4 422 4ac 13a2 1d1b 1d40 1e6a 1e6c 1e6e 1e70 20ae "
        "22a4 2361 24c9 27d9 2ca6 a4d4 ff34 10297 102b1 10315 118bc 16f0a 1d413 1d447 1d47b "
        "1d4af 1d4e3 1d517 1d54b 1d57f 1d5b3 1d5e7 1d61b 1d64f 1d683 1d6bb 1d6f5 1d72f "
        "1d769 1d7a3 1f123 1f143 1f163 1f183 1f1f9 1f768"
    ),
    "U": (
        "d9-dc 168 16a 16c 16e 170 172 1af 1d3 1d5 1d7 1d9 1db 214 216 244 54d 1200 13cc "
        "144c 1d41 1e72 1e74 1e76 1e78 1e7a 1ee4 1ee6 1ee8 1eea 1eec 1eee 1ef0 222a 22c3 "
        "24ca a4f4 a7b8 ff35 104ce 118b8 16f42 1d414 1d448 1d47c 1d4b0 1d4e4 1d518 1d54c "
        "1d580 1d5b4 1d5e8 1d61c 1d650 1d684 1f124 1f144 1f164 1f184 1f1fa"
    ),
    "V": (
        "1b2 474 476 667 6f7 13d9 142f 1e7c 1e7e 2164 24cb 2c7d 2d38 a4e6 a6df a75e ff36 "
        "10197 1051d 118a0 16f08 1d20d 1d415 1d449 1d47d 1d4b1 1d4e5 1d519 1d54d 1d581 "
        "1d5b5 1d5e9 1d61d 1d651 1d685 1f125 1f145 1f165 1f185 1f1fb 1f708"
    ),
    "W": (
        "174 51c 13b3 13d4 1d42 1e80 1e82 1e84 1e86 1e88 20a9 24cc 2c72 a4ea ff37 ffe6 "
        "118e6 118ef 1d416 1d44a 1d47e 1d4b2 1d4e6 1d51a 1d54e 1d582 1d5b6 1d5ea 1d61e "
        "1d652 1d686 1f126 1f146 1f166 1f186 1f1fc"
    ),
    "X": (
        "3a7 425 4b2 166d 16b7 1e8a 1e8c 2169 24cd 2573 2cac 2d5d a4eb a7b3 ff38 10196 "
        "10290 102b4 10317 10322 10527 118ec 1d417 1d44b 1d47f 1d4b3 1d4e7 1d51b 1d54f "
        "1d583 1d5b7 1d5eb 1d61f 1d653 1d687 1d6be 1d6f8 1d732 1d76c 1d7a6 1f127 1f147 "
        "1f167 1f187 1f1fd"
    ),
    "Y": (
        "a5 dd 176 178 1b3 232 24e 38e 3a5 3ab 3d2-3d4 40e 423 4ae 4b0 4ee 4f0 4f2 13a9 "
        "13bd 1e8e 1ef2 1ef4 1ef6 1ef8 1efe 1f59 1f5b 1f5d 1f5f 1fe8-1feb 24ce 2ca8 a4ec "
        "ff39 ffe5 102b2 118a4 16f43 1d418 1d44c 1d480 1d4b4 1d4e8 1d51c 1d550 1d584 1d5b8 "
        "1d5ec 1d620 1d654 1d688 1d6bc 1d6f6 1d730 1d76a 1d7a4 1f128 1f148 1f168 1f188 "
        "1f1fe"
    ),
    "Z": (
        "179 17b 17d 1b5 224 396 13c3 1e90 1e92 1e94 2124 2128 24cf 2c6b 2c7f a4dc a7c6 "
        "ff3a 102f5 118a9 118e5 1d419 1d44d 1d481 1d4b5 1d4e9 1d585 1d5b9 1d5ed 1d621 1d655 "
        "1d689 1d6ad 1d6e7 1d721 1d75b 1d795 1f129 1f149 1f169 1f189 1f1ff"
    ),
    "a": (
        "aa e0-e5 101 103 105 1ce 1df 1e1 1fb 201 203 227 251 3ac 3b1 430 4d1 4d3 1d43 1d45 "
        "1d8f 1e01 1e9a 1ea1 1ea3 1ea5 1ea7 1ea9 1eab 1ead 1eaf 1eb1 1eb3 1eb5 1eb7 "
        "1f00-1f07 1f70-1f71 1f80-1f87 1fb0-1fb4 1fb6-1fb7 2090 2376 237a 249c 24d0 2c65 "
        "ff41 1d41a 1d44e 1d482 1d4b6 1d4ea 1d51e 1d552 1d586 1d5ba 1d5ee 1d622 1d656 1d68a "
        "1d6c2 1d6fc 1d736 1d770 1d7aa"
    ),
    "b": (
        "180 182-184 253 411 42c 462-463 48c-48d 13cf 1472-1473 15af 1d47 1d6c 1d80 1e03 "
        "1e05 1e07 249d 24d1 a797 ff42 10785 1d41b 1d44f 1d483 1d4b7 1d4eb 1d51f 1d553 "
        "1d587 1d5bb 1d5ef 1d623 1d657 1d68b"
    ),
    "c": (
        "a2 e7 107 109 10b 10d 188 23c 255 3f2 441 4ab 1004 105a 1d04 1d9c 1e09 217d 249e "
        "24d2 2ca5 a793-a794 abaf ff43 ffe0 1043d 1d41c 1d450 1d484 1d4b8 1d4ec 1d520 1d554 "
        "1d588 1d5bc 1d5f0 1d624 1d658 1d68c 1df1d"
    ),
    "d": (
        "10f 111 18c 221 256-257 501 13e7 146f 1d48 1d6d 1d81 1d91 1e0b 1e0d 1e0f 1e11 1e13 "
        "20ab 2146 217e 249f 24d3 a4d2 a7c8 ff44 1078b-1078c 1d41d 1d451 1d485 1d4b9 1d4ed "
        "1d521 1d555 1d589 1d5bd 1d5f1 1d625 1d659 1d68d 1f1a5"
    ),
    "e": (
        "e8-eb 113 115 117 119 11b 205 207 229 247 435 450-451 4bd 4bf 4d7 1d49 1d92 1e15 "
        "1e17 1e19 1e1b 1e1d 1eb9 1ebb 1ebd 1ebf 1ec1 1ec3 1ec5 1ec7 2091 212e-212f 2147 "
        "24a0 24d4 2c78 ab32 ab34 ff45 1d41e 1d452 1d486 1d4ee 1d522 1d556 1d58a 1d5be "
        "1d5f2 1d626 1d65a 1d68e"
    ),
    "f": (
        "17f 192 584 1d6e 1d82 1da0 1e1f 1e9d 24a1 24d5 a799 ab35 ff46 1d41f 1d453 1d487 "
        "1d4bb 1d4ef 1d523 1d557 1d58b 1d5bf 1d5f3 1d627 1d65b 1d68f"
    ),
    "g": (
        "11d 11f 121 123 18d 1e5 1e7 1f5 260-261 581 1d4d 1d83 1da2 1e21 210a 24a2 24d6 "
        "a7a1 ff47 10793 1d420 1d454 1d488 1d4f0 1d524 1d558 1d58c 1d5c0 1d5f4 1d628 1d65c "
        "1d690"
    ),
    "h": (
        "125 127 21f 266 2b0-2b1 45b 4bb 570 13c2 13f2 1e23 1e25 1e27 1e29 1e2b 1e96 2095 "
        "210e-210f 24a3 24d7 2c68 a695 a795 ff48 10795 1d421 1d489 1d4bd 1d4f1 1d525 1d559 "
        "1d58d 1d5c1 1d5f5 1d629 1d65d 1d691"
    ),
    "i": (
        "ec-ef 129 12b 12d 12f 131 1d0 209 20b 268-26a 2db 37a 390 3af 3b9 3ca 456-457 582 "
        "13a5 1d62 1d7b-1d7c 1d96 1da4-1da7 1e2d 1e2f 1ec9 1ecb 1f30-1f37 1f76-1f77 1fbe "
        "1fd0-1fd3 1fd6-1fd7 2071 2139 2148 2170 2373 2378 24a4 24d8 2c93 a647 ab75 ff49 "
        "118c3 1d422 1d456 1d48a 1d4be 1d4f2 1d526 1d55a 1d58e 1d5c2 1d5f6 1d62a 1d65e "
        "1d692 1d6a4 1d6ca 1d704 1d73e 1d778 1d7b2 1df1a"
    ),
    "j": (
        "135 1f0 249 29d 2b2 3f3 458 2149 24a5 24d9 2c7c ff4a 1d423 1d457 1d48b 1d4bf 1d4f3 "
        "1d527 1d55b 1d58f 1d5c3 1d5f7 1d62b 1d65f 1d693"
    ),
    "k": (
        "137 199 1e9 1d4f 1d84 1e31 1e33 1e35 2096 24a6 24da 2c6a a741 a743 a745 a7a3 ff4b "
        "1d424 1d458 1d48c 1d4c0 1d4f4 1d528 1d55c 1d590 1d5c4 1d5f8 1d62c 1d660 1d694"
    ),
    "l": (
        "b9 13a 13c 13e 140 142 196-197 19a 1c0 234 26b-26d 2e1 38a 399 3aa 406-407 4c0 4cf "
        "5c0 5d5 5df 622-623 625 627 661 673 6f1 7ca 16c1 1d85 1da9 1e37 1e39 1e3b 1e3d "
        "1f38-1f3f 1fd8-1fdb 2081 2097 2110-2111 2113 2160 217c 2223-2224 23fd 2460 2474 "
        "24a7 2c61 2c92 2d4f a4f2 a749 a78e ab37-ab39 ab5e fb35 fb4b fd3c-fd3d fe81-fe84 "
        "fe87-fe88 fe8d-fe8e ff11 ff29 ff4c ff5c ffe8 1028a 10309 10320 107b6 16f28 1d408 "
        "1d425 1d43c 1d459 1d470 1d48d 1d4c1 1d4d8 1d4f5 1d529 1d540 1d55d 1d574 1d591 "
        "1d5a8 1d5c5 1d5dc 1d5f9 1d610 1d62d 1d644 1d661 1d678 1d695 1d6b0 1d6ea 1d724 "
        "1d75e 1d798 1d7cf 1d7d9 1d7e3 1d7ed 1d7f7 1df11 1df13 1e8c7 1ee00 1ee80 1fbf1"
    ),
    "m": (
        "271 1d50 1d6f 1d86 1e3f 1e41 1e43 2098 217f 24a8 24dc ab3a ff4d 1d426 1d45a 1d48e "
        "1d4c2 1d4f6 1d52a 1d55e 1d592 1d5c6 1d5fa 1d62e 1d662 1d696"
    ),
    "n": (
        "f1 144 146 148 14b 19e 1f9 235 272-273 3ae 3b7 572 578 57c 1d51 1d70 1d87 1daf "
        "1e45 1e47 1e49 1e4b 1f20-1f27 1f74-1f75 1f90-1f97 1fc2-1fc4 1fc6-1fc7 207f 2099 "
        "24a9 24dd a791 a7a5 ab3b ff4e 1d427 1d45b 1d48f 1d4c3 1d4f7 1d52b 1d55f 1d593 "
        "1d5c7 1d5fb 1d62f 1d663 1d697 1d6c8 1d702 1d73c 1d776 1d7b0"
    ),
    "o": (
        "ba f2-f6 f8 14d 14f 151 1a1 1d2 1eb 1ed 1ff 20d 20f 22b 22d 22f 231 275 3bf 3c3 "
        "3cc 3ed 43e 473 4e7 4e9 4eb 585 5e1 647 665 6be 6c0-6c2 6d5 6f5 6ff 966 9e6 a66 "
        "ae6 b66 be6 c66 d20 d66 e50 ed0 1010 101d 1040 10d7 10ff 17e0 1d0f 1d11 1d52 1db1 "
        "1e4d 1e4f 1e51 1e53 1ecd 1ecf 1ed1 1ed3 1ed5 1ed7 1ed9 1edb 1edd 1edf 1ee1 1ee3 "
        "1f40-1f45 1f78-1f79 2070 2092 2134 24aa 24de 2c7a 2c91 2c9f a74b a74d ab3d-ab3e "
        "ab74 ab8e abbb fb41 fba4-fbad fcd9 fee9-feec ff4f 1042c 104ea 107a2 114d0 118c8 "
        "118d7 1d428 1d45c 1d490 1d4f8 1d52c 1d560 1d594 1d5c8 1d5fc 1d630 1d664 1d698 "
        "1d6d0 1d6d4 1d70a 1d70e 1d744 1d748 1d77e 1d782 1d7b8 1d7bc 1df1b 1ee24 1ee64 "
        "1ee84"
    ),
    "p": (
        "fe 1a5 1bf 3c1 3f1 3f8 440 1d56 1d68 1d71 1d7d 1d88 1e55 1e57 1fe4-1fe5 209a 2374 "
        "24ab 24df 2ca3 2ccf a751 a753 a755 ff50 1d429 1d45d 1d491 1d4c5 1d4f9 1d52d 1d561 "
        "1d595 1d5c9 1d5fd 1d631 1d665 1d699 1d6d2 1d6e0 1d70c 1d71a 1d746 1d754 1d780 "
        "1d78e 1d7ba 1d7c8"
    ),
    "q": (
        "24b 2a0 51b 563 566 24ac 24e0 a757 a759 ff51 107a5 1d42a 1d45e 1d492 1d4c6 1d4fa "
        "1d52e 1d562 1d596 1d5ca 1d5fe 1d632 1d666 1d69a"
    ),
    "r": (
        "155 157 159 211 213 24d 27c-27e 2b3 433 453 493 1d26 1d63 1d72-1d73 1d89 1e59 1e5b "
        "1e5d 1e5f 24ad 24e1 2c85 a7a7 ab47-ab49 ab81 ff52 107a8 1d42b 1d45f 1d493 1d4c7 "
        "1d4fb 1d52f 1d563 1d597 1d5cb 1d5ff 1d633 1d667 1d69b 1df16"
    ),
    "s": (
        "15b 15d 15f 161 1bd 219 23f 282 2e2 455 d1f 1d74 1d8a 1db3 1e61 1e63 1e65 1e67 "
        "1e69 1e9b 209b 24ae 24e2 a731 a7a9 a7ca abaa ff53 10448 118c1 1d42c 1d460 1d494 "
        "1d4c8 1d4fc 1d530 1d564 1d598 1d5cc 1d600 1d634 1d668 1d69c 1df1e"
    ),
    "t": (
        "163 165 167 1ab 1ad 21b 236 288 1d57 1d75 1e6b 1e6d 1e6f 1e71 1e97 209c 24af 24e3 "
        "2c66 ff54 1d42d 1d461 1d495 1d4c9 1d4fd 1d531 1d565 1d599 1d5cd 1d601 1d635 1d669 "
        "1d69d 1df09"
    ),
    "u": (
        "f9-fc 169 16b 16d 16f 171 173 1b0 1d4 1d6 1d8 1da 1dc 215 217 28b 3b0 3c5 3cb 3cd "
        "45f 57d 1d1c 1d58 1d64 1d7e 1d99 1db8-1db9 1e73 1e75 1e77 1e79 1e7b 1ee5 1ee7 1ee9 "
        "1eeb 1eed 1eef 1ef1 1f50-1f57 1f7a-1f7b 1fe0-1fe3 1fe6-1fe7 24b0 24e4 a79f a7b9 "
        "ab4e ab52 ab5f ab9c ff55 104f6 118d8 1d42e 1d462 1d496 1d4ca 1d4fe 1d532 1d566 "
        "1d59a 1d5ce 1d602 1d636 1d66a 1d69e 1d6d6 1d710 1d74a 1d784 1d7be"
    ),
    "v": (
        "3bd 475 477 5d8 1d20 1d5b 1d65 1e7d 1e7f 2174 2228 22c1 24b1 24e5 2c71 2c74 a75f "
        "aba9 fb38 ff56 11706 118c0 1d42f 1d463 1d497 1d4cb 1d4ff 1d533 1d567 1d59b 1d5cf "
        "1d603 1d637 1d66b 1d69f 1d6ce 1d708 1d742 1d77c 1d7b6"
    ),
    "w": (
        "175 26f 2b7 448 461 47d 51d 561 1d21 1d5a 1e81 1e83 1e85 1e87 1e89 1e98 24b2 24e6 "
        "2c73 2cbd a761 ab83 ff57 114c5 1170a 1170e-1170f 1d430 1d464 1d498 1d4cc 1d500 "
        "1d534 1d568 1d59c 1d5d0 1d604 1d638 1d66c 1d6a0"
    ),
    "x": (
        "d7 2e3 445 1541 157d 166e 1d8d 1e8b 1e8d 2093 2179 24b3 24e7 292b-292c 2a2f-2a30 "
        "ab56-ab59 ff58 1d431 1d465 1d499 1d4cd 1d501 1d535 1d569 1d59d 1d5d1 1d605 1d639 "
        "1d66d 1d6a1"
    ),
    "y": (
        "fd ff 177 1b4 233 24f 263 28f 2b8 2e0 3b3 443 45e 4af 4b1 4ef 4f1 4f3 10e7 1d5e "
        "1d67 1d8c 1e8f 1e99 1ef3 1ef5 1ef7 1ef9 1eff 213d 24b4 24e8 2ca9 ab5a ff59 107b2 "
        "118dc 1d432 1d466 1d49a 1d4ce 1d502 1d536 1d56a 1d59e 1d5d2 1d606 1d63a 1d66e "
        "1d6a2 1d6c4 1d6fe 1d738 1d772 1d7ac"
    ),
    "z": (
        "17a 17c 17e 1b6 225 240 290-291 1d22 1d76 1d8e 1dbb-1dbc 1e91 1e93 1e95 24b5 24e9 "
        "2c6c ab93 ff5a 118c4 1d433 1d467 1d49b 1d4cf 1d503 1d537 1d56b 1d59f 1d5d3 1d607 "
        "1d63b 1d66f 1d6a3"
    ),
}


def spans(codes: str) -> Iterator[tuple[int, int]]:
    """The first and the last number of each range in such a list."""
    for span in codes.split():
        low, _, high = span.partition("-")
        yield int(low, 16), int(high or low, 16)


def characters(codes: str) -> Iterator[str]:
    """Each character in such a list."""
    for low, high in spans(codes):
        yield from map(chr, range(low, high + 1))
