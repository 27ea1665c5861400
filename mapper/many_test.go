package mapper_test

// manyFields has more attributes than an update expression has operators.
type manyFields struct {
	F000 int `ddb:"sk=HEAD"`
	F001 int `ddb:"sk=HEAD"`
	F002 int `ddb:"sk=HEAD"`
	F003 int `ddb:"sk=HEAD"`
	F004 int `ddb:"sk=HEAD"`
	F005 int `ddb:"sk=HEAD"`
	F006 int `ddb:"sk=HEAD"`
	F007 int `ddb:"sk=HEAD"`
	F008 int `ddb:"sk=HEAD"`
	F009 int `ddb:"sk=HEAD"`
	F010 int `ddb:"sk=HEAD"`
	F011 int `ddb:"sk=HEAD"`
	F012 int `ddb:"sk=HEAD"`
	F013 int `ddb:"sk=HEAD"`
	F014 int `ddb:"sk=HEAD"`
	F015 int `ddb:"sk=HEAD"`
	F016 int `ddb:"sk=HEAD"`
	F017 int `ddb:"sk=HEAD"`
	F018 int `ddb:"sk=HEAD"`
	F019 int `ddb:"sk=HEAD"`
	F020 int `ddb:"sk=HEAD"`
	F021 int `ddb:"sk=HEAD"`
	F022 int `ddb:"sk=HEAD"`
	F023 int `ddb:"sk=HEAD"`
	F024 int `ddb:"sk=HEAD"`
	F025 int `ddb:"sk=HEAD"`
	F026 int `ddb:"sk=HEAD"`
	F027 int `ddb:"sk=HEAD"`
	F028 int `ddb:"sk=HEAD"`
	F029 int `ddb:"sk=HEAD"`
	F030 int `ddb:"sk=HEAD"`
	F031 int `ddb:"sk=HEAD"`
	F032 int `ddb:"sk=HEAD"`
	F033 int `ddb:"sk=HEAD"`
	F034 int `ddb:"sk=HEAD"`
	F035 int `ddb:"sk=HEAD"`
	F036 int `ddb:"sk=HEAD"`
	F037 int `ddb:"sk=HEAD"`
	F038 int `ddb:"sk=HEAD"`
	F039 int `ddb:"sk=HEAD"`
	F040 int `ddb:"sk=HEAD"`
	F041 int `ddb:"sk=HEAD"`
	F042 int `ddb:"sk=HEAD"`
	F043 int `ddb:"sk=HEAD"`
	F044 int `ddb:"sk=HEAD"`
	F045 int `ddb:"sk=HEAD"`
	F046 int `ddb:"sk=HEAD"`
	F047 int `ddb:"sk=HEAD"`
	F048 int `ddb:"sk=HEAD"`
	F049 int `ddb:"sk=HEAD"`
	F050 int `ddb:"sk=HEAD"`
	F051 int `ddb:"sk=HEAD"`
	F052 int `ddb:"sk=HEAD"`
	F053 int `ddb:"sk=HEAD"`
	F054 int `ddb:"sk=HEAD"`
	F055 int `ddb:"sk=HEAD"`
	F056 int `ddb:"sk=HEAD"`
	F057 int `ddb:"sk=HEAD"`
	F058 int `ddb:"sk=HEAD"`
	F059 int `ddb:"sk=HEAD"`
	F060 int `ddb:"sk=HEAD"`
	F061 int `ddb:"sk=HEAD"`
	F062 int `ddb:"sk=HEAD"`
	F063 int `ddb:"sk=HEAD"`
	F064 int `ddb:"sk=HEAD"`
	F065 int `ddb:"sk=HEAD"`
	F066 int `ddb:"sk=HEAD"`
	F067 int `ddb:"sk=HEAD"`
	F068 int `ddb:"sk=HEAD"`
	F069 int `ddb:"sk=HEAD"`
	F070 int `ddb:"sk=HEAD"`
	F071 int `ddb:"sk=HEAD"`
	F072 int `ddb:"sk=HEAD"`
	F073 int `ddb:"sk=HEAD"`
	F074 int `ddb:"sk=HEAD"`
	F075 int `ddb:"sk=HEAD"`
	F076 int `ddb:"sk=HEAD"`
	F077 int `ddb:"sk=HEAD"`
	F078 int `ddb:"sk=HEAD"`
	F079 int `ddb:"sk=HEAD"`
	F080 int `ddb:"sk=HEAD"`
	F081 int `ddb:"sk=HEAD"`
	F082 int `ddb:"sk=HEAD"`
	F083 int `ddb:"sk=HEAD"`
	F084 int `ddb:"sk=HEAD"`
	F085 int `ddb:"sk=HEAD"`
	F086 int `ddb:"sk=HEAD"`
	F087 int `ddb:"sk=HEAD"`
	F088 int `ddb:"sk=HEAD"`
	F089 int `ddb:"sk=HEAD"`
	F090 int `ddb:"sk=HEAD"`
	F091 int `ddb:"sk=HEAD"`
	F092 int `ddb:"sk=HEAD"`
	F093 int `ddb:"sk=HEAD"`
	F094 int `ddb:"sk=HEAD"`
	F095 int `ddb:"sk=HEAD"`
	F096 int `ddb:"sk=HEAD"`
	F097 int `ddb:"sk=HEAD"`
	F098 int `ddb:"sk=HEAD"`
	F099 int `ddb:"sk=HEAD"`
	F100 int `ddb:"sk=HEAD"`
	F101 int `ddb:"sk=HEAD"`
	F102 int `ddb:"sk=HEAD"`
	F103 int `ddb:"sk=HEAD"`
	F104 int `ddb:"sk=HEAD"`
	F105 int `ddb:"sk=HEAD"`
	F106 int `ddb:"sk=HEAD"`
	F107 int `ddb:"sk=HEAD"`
	F108 int `ddb:"sk=HEAD"`
	F109 int `ddb:"sk=HEAD"`
	F110 int `ddb:"sk=HEAD"`
	F111 int `ddb:"sk=HEAD"`
	F112 int `ddb:"sk=HEAD"`
	F113 int `ddb:"sk=HEAD"`
	F114 int `ddb:"sk=HEAD"`
	F115 int `ddb:"sk=HEAD"`
	F116 int `ddb:"sk=HEAD"`
	F117 int `ddb:"sk=HEAD"`
	F118 int `ddb:"sk=HEAD"`
	F119 int `ddb:"sk=HEAD"`
	F120 int `ddb:"sk=HEAD"`
	F121 int `ddb:"sk=HEAD"`
	F122 int `ddb:"sk=HEAD"`
	F123 int `ddb:"sk=HEAD"`
	F124 int `ddb:"sk=HEAD"`
	F125 int `ddb:"sk=HEAD"`
	F126 int `ddb:"sk=HEAD"`
	F127 int `ddb:"sk=HEAD"`
	F128 int `ddb:"sk=HEAD"`
	F129 int `ddb:"sk=HEAD"`
	F130 int `ddb:"sk=HEAD"`
	F131 int `ddb:"sk=HEAD"`
	F132 int `ddb:"sk=HEAD"`
	F133 int `ddb:"sk=HEAD"`
	F134 int `ddb:"sk=HEAD"`
	F135 int `ddb:"sk=HEAD"`
	F136 int `ddb:"sk=HEAD"`
	F137 int `ddb:"sk=HEAD"`
	F138 int `ddb:"sk=HEAD"`
	F139 int `ddb:"sk=HEAD"`
	F140 int `ddb:"sk=HEAD"`
	F141 int `ddb:"sk=HEAD"`
	F142 int `ddb:"sk=HEAD"`
	F143 int `ddb:"sk=HEAD"`
	F144 int `ddb:"sk=HEAD"`
	F145 int `ddb:"sk=HEAD"`
	F146 int `ddb:"sk=HEAD"`
	F147 int `ddb:"sk=HEAD"`
	F148 int `ddb:"sk=HEAD"`
	F149 int `ddb:"sk=HEAD"`
	F150 int `ddb:"sk=HEAD"`
	F151 int `ddb:"sk=HEAD"`
	F152 int `ddb:"sk=HEAD"`
	F153 int `ddb:"sk=HEAD"`
	F154 int `ddb:"sk=HEAD"`
	F155 int `ddb:"sk=HEAD"`
	F156 int `ddb:"sk=HEAD"`
	F157 int `ddb:"sk=HEAD"`
	F158 int `ddb:"sk=HEAD"`
	F159 int `ddb:"sk=HEAD"`
	F160 int `ddb:"sk=HEAD"`
	F161 int `ddb:"sk=HEAD"`
	F162 int `ddb:"sk=HEAD"`
	F163 int `ddb:"sk=HEAD"`
	F164 int `ddb:"sk=HEAD"`
	F165 int `ddb:"sk=HEAD"`
	F166 int `ddb:"sk=HEAD"`
	F167 int `ddb:"sk=HEAD"`
	F168 int `ddb:"sk=HEAD"`
	F169 int `ddb:"sk=HEAD"`
	F170 int `ddb:"sk=HEAD"`
	F171 int `ddb:"sk=HEAD"`
	F172 int `ddb:"sk=HEAD"`
	F173 int `ddb:"sk=HEAD"`
	F174 int `ddb:"sk=HEAD"`
	F175 int `ddb:"sk=HEAD"`
	F176 int `ddb:"sk=HEAD"`
	F177 int `ddb:"sk=HEAD"`
	F178 int `ddb:"sk=HEAD"`
	F179 int `ddb:"sk=HEAD"`
	F180 int `ddb:"sk=HEAD"`
	F181 int `ddb:"sk=HEAD"`
	F182 int `ddb:"sk=HEAD"`
	F183 int `ddb:"sk=HEAD"`
	F184 int `ddb:"sk=HEAD"`
	F185 int `ddb:"sk=HEAD"`
	F186 int `ddb:"sk=HEAD"`
	F187 int `ddb:"sk=HEAD"`
	F188 int `ddb:"sk=HEAD"`
	F189 int `ddb:"sk=HEAD"`
	F190 int `ddb:"sk=HEAD"`
	F191 int `ddb:"sk=HEAD"`
	F192 int `ddb:"sk=HEAD"`
	F193 int `ddb:"sk=HEAD"`
	F194 int `ddb:"sk=HEAD"`
	F195 int `ddb:"sk=HEAD"`
	F196 int `ddb:"sk=HEAD"`
	F197 int `ddb:"sk=HEAD"`
	F198 int `ddb:"sk=HEAD"`
	F199 int `ddb:"sk=HEAD"`
	F200 int `ddb:"sk=HEAD"`
	F201 int `ddb:"sk=HEAD"`
	F202 int `ddb:"sk=HEAD"`
	F203 int `ddb:"sk=HEAD"`
	F204 int `ddb:"sk=HEAD"`
	F205 int `ddb:"sk=HEAD"`
	F206 int `ddb:"sk=HEAD"`
	F207 int `ddb:"sk=HEAD"`
	F208 int `ddb:"sk=HEAD"`
	F209 int `ddb:"sk=HEAD"`
	F210 int `ddb:"sk=HEAD"`
	F211 int `ddb:"sk=HEAD"`
	F212 int `ddb:"sk=HEAD"`
	F213 int `ddb:"sk=HEAD"`
	F214 int `ddb:"sk=HEAD"`
	F215 int `ddb:"sk=HEAD"`
	F216 int `ddb:"sk=HEAD"`
	F217 int `ddb:"sk=HEAD"`
	F218 int `ddb:"sk=HEAD"`
	F219 int `ddb:"sk=HEAD"`
	F220 int `ddb:"sk=HEAD"`
	F221 int `ddb:"sk=HEAD"`
	F222 int `ddb:"sk=HEAD"`
	F223 int `ddb:"sk=HEAD"`
	F224 int `ddb:"sk=HEAD"`
	F225 int `ddb:"sk=HEAD"`
	F226 int `ddb:"sk=HEAD"`
	F227 int `ddb:"sk=HEAD"`
	F228 int `ddb:"sk=HEAD"`
	F229 int `ddb:"sk=HEAD"`
	F230 int `ddb:"sk=HEAD"`
	F231 int `ddb:"sk=HEAD"`
	F232 int `ddb:"sk=HEAD"`
	F233 int `ddb:"sk=HEAD"`
	F234 int `ddb:"sk=HEAD"`
	F235 int `ddb:"sk=HEAD"`
	F236 int `ddb:"sk=HEAD"`
	F237 int `ddb:"sk=HEAD"`
	F238 int `ddb:"sk=HEAD"`
	F239 int `ddb:"sk=HEAD"`
	F240 int `ddb:"sk=HEAD"`
	F241 int `ddb:"sk=HEAD"`
	F242 int `ddb:"sk=HEAD"`
	F243 int `ddb:"sk=HEAD"`
	F244 int `ddb:"sk=HEAD"`
	F245 int `ddb:"sk=HEAD"`
	F246 int `ddb:"sk=HEAD"`
	F247 int `ddb:"sk=HEAD"`
	F248 int `ddb:"sk=HEAD"`
	F249 int `ddb:"sk=HEAD"`
	F250 int `ddb:"sk=HEAD"`
	F251 int `ddb:"sk=HEAD"`
	F252 int `ddb:"sk=HEAD"`
	F253 int `ddb:"sk=HEAD"`
	F254 int `ddb:"sk=HEAD"`
	F255 int `ddb:"sk=HEAD"`
	F256 int `ddb:"sk=HEAD"`
	F257 int `ddb:"sk=HEAD"`
	F258 int `ddb:"sk=HEAD"`
	F259 int `ddb:"sk=HEAD"`
	F260 int `ddb:"sk=HEAD"`
	F261 int `ddb:"sk=HEAD"`
	F262 int `ddb:"sk=HEAD"`
	F263 int `ddb:"sk=HEAD"`
	F264 int `ddb:"sk=HEAD"`
	F265 int `ddb:"sk=HEAD"`
	F266 int `ddb:"sk=HEAD"`
	F267 int `ddb:"sk=HEAD"`
	F268 int `ddb:"sk=HEAD"`
	F269 int `ddb:"sk=HEAD"`
	F270 int `ddb:"sk=HEAD"`
	F271 int `ddb:"sk=HEAD"`
	F272 int `ddb:"sk=HEAD"`
	F273 int `ddb:"sk=HEAD"`
	F274 int `ddb:"sk=HEAD"`
	F275 int `ddb:"sk=HEAD"`
	F276 int `ddb:"sk=HEAD"`
	F277 int `ddb:"sk=HEAD"`
	F278 int `ddb:"sk=HEAD"`
	F279 int `ddb:"sk=HEAD"`
	F280 int `ddb:"sk=HEAD"`
	F281 int `ddb:"sk=HEAD"`
	F282 int `ddb:"sk=HEAD"`
	F283 int `ddb:"sk=HEAD"`
	F284 int `ddb:"sk=HEAD"`
	F285 int `ddb:"sk=HEAD"`
	F286 int `ddb:"sk=HEAD"`
	F287 int `ddb:"sk=HEAD"`
	F288 int `ddb:"sk=HEAD"`
	F289 int `ddb:"sk=HEAD"`
	F290 int `ddb:"sk=HEAD"`
	F291 int `ddb:"sk=HEAD"`
	F292 int `ddb:"sk=HEAD"`
	F293 int `ddb:"sk=HEAD"`
	F294 int `ddb:"sk=HEAD"`
	F295 int `ddb:"sk=HEAD"`
	F296 int `ddb:"sk=HEAD"`
	F297 int `ddb:"sk=HEAD"`
	F298 int `ddb:"sk=HEAD"`
	F299 int `ddb:"sk=HEAD"`
	F300 int `ddb:"sk=HEAD"`
	F301 int `ddb:"sk=HEAD"`
	F302 int `ddb:"sk=HEAD"`
	F303 int `ddb:"sk=HEAD"`
	F304 int `ddb:"sk=HEAD"`
	F305 int `ddb:"sk=HEAD"`
	F306 int `ddb:"sk=HEAD"`
	F307 int `ddb:"sk=HEAD"`
	F308 int `ddb:"sk=HEAD"`
	F309 int `ddb:"sk=HEAD"`
	F310 int `ddb:"sk=HEAD"`
	F311 int `ddb:"sk=HEAD"`
	F312 int `ddb:"sk=HEAD"`
	F313 int `ddb:"sk=HEAD"`
	F314 int `ddb:"sk=HEAD"`
	F315 int `ddb:"sk=HEAD"`
	F316 int `ddb:"sk=HEAD"`
	F317 int `ddb:"sk=HEAD"`
	F318 int `ddb:"sk=HEAD"`
	F319 int `ddb:"sk=HEAD"`
}

func (m *manyFields) fields() []*int {
	return []*int{
		&m.F000,
		&m.F001,
		&m.F002,
		&m.F003,
		&m.F004,
		&m.F005,
		&m.F006,
		&m.F007,
		&m.F008,
		&m.F009,
		&m.F010,
		&m.F011,
		&m.F012,
		&m.F013,
		&m.F014,
		&m.F015,
		&m.F016,
		&m.F017,
		&m.F018,
		&m.F019,
		&m.F020,
		&m.F021,
		&m.F022,
		&m.F023,
		&m.F024,
		&m.F025,
		&m.F026,
		&m.F027,
		&m.F028,
		&m.F029,
		&m.F030,
		&m.F031,
		&m.F032,
		&m.F033,
		&m.F034,
		&m.F035,
		&m.F036,
		&m.F037,
		&m.F038,
		&m.F039,
		&m.F040,
		&m.F041,
		&m.F042,
		&m.F043,
		&m.F044,
		&m.F045,
		&m.F046,
		&m.F047,
		&m.F048,
		&m.F049,
		&m.F050,
		&m.F051,
		&m.F052,
		&m.F053,
		&m.F054,
		&m.F055,
		&m.F056,
		&m.F057,
		&m.F058,
		&m.F059,
		&m.F060,
		&m.F061,
		&m.F062,
		&m.F063,
		&m.F064,
		&m.F065,
		&m.F066,
		&m.F067,
		&m.F068,
		&m.F069,
		&m.F070,
		&m.F071,
		&m.F072,
		&m.F073,
		&m.F074,
		&m.F075,
		&m.F076,
		&m.F077,
		&m.F078,
		&m.F079,
		&m.F080,
		&m.F081,
		&m.F082,
		&m.F083,
		&m.F084,
		&m.F085,
		&m.F086,
		&m.F087,
		&m.F088,
		&m.F089,
		&m.F090,
		&m.F091,
		&m.F092,
		&m.F093,
		&m.F094,
		&m.F095,
		&m.F096,
		&m.F097,
		&m.F098,
		&m.F099,
		&m.F100,
		&m.F101,
		&m.F102,
		&m.F103,
		&m.F104,
		&m.F105,
		&m.F106,
		&m.F107,
		&m.F108,
		&m.F109,
		&m.F110,
		&m.F111,
		&m.F112,
		&m.F113,
		&m.F114,
		&m.F115,
		&m.F116,
		&m.F117,
		&m.F118,
		&m.F119,
		&m.F120,
		&m.F121,
		&m.F122,
		&m.F123,
		&m.F124,
		&m.F125,
		&m.F126,
		&m.F127,
		&m.F128,
		&m.F129,
		&m.F130,
		&m.F131,
		&m.F132,
		&m.F133,
		&m.F134,
		&m.F135,
		&m.F136,
		&m.F137,
		&m.F138,
		&m.F139,
		&m.F140,
		&m.F141,
		&m.F142,
		&m.F143,
		&m.F144,
		&m.F145,
		&m.F146,
		&m.F147,
		&m.F148,
		&m.F149,
		&m.F150,
		&m.F151,
		&m.F152,
		&m.F153,
		&m.F154,
		&m.F155,
		&m.F156,
		&m.F157,
		&m.F158,
		&m.F159,
		&m.F160,
		&m.F161,
		&m.F162,
		&m.F163,
		&m.F164,
		&m.F165,
		&m.F166,
		&m.F167,
		&m.F168,
		&m.F169,
		&m.F170,
		&m.F171,
		&m.F172,
		&m.F173,
		&m.F174,
		&m.F175,
		&m.F176,
		&m.F177,
		&m.F178,
		&m.F179,
		&m.F180,
		&m.F181,
		&m.F182,
		&m.F183,
		&m.F184,
		&m.F185,
		&m.F186,
		&m.F187,
		&m.F188,
		&m.F189,
		&m.F190,
		&m.F191,
		&m.F192,
		&m.F193,
		&m.F194,
		&m.F195,
		&m.F196,
		&m.F197,
		&m.F198,
		&m.F199,
		&m.F200,
		&m.F201,
		&m.F202,
		&m.F203,
		&m.F204,
		&m.F205,
		&m.F206,
		&m.F207,
		&m.F208,
		&m.F209,
		&m.F210,
		&m.F211,
		&m.F212,
		&m.F213,
		&m.F214,
		&m.F215,
		&m.F216,
		&m.F217,
		&m.F218,
		&m.F219,
		&m.F220,
		&m.F221,
		&m.F222,
		&m.F223,
		&m.F224,
		&m.F225,
		&m.F226,
		&m.F227,
		&m.F228,
		&m.F229,
		&m.F230,
		&m.F231,
		&m.F232,
		&m.F233,
		&m.F234,
		&m.F235,
		&m.F236,
		&m.F237,
		&m.F238,
		&m.F239,
		&m.F240,
		&m.F241,
		&m.F242,
		&m.F243,
		&m.F244,
		&m.F245,
		&m.F246,
		&m.F247,
		&m.F248,
		&m.F249,
		&m.F250,
		&m.F251,
		&m.F252,
		&m.F253,
		&m.F254,
		&m.F255,
		&m.F256,
		&m.F257,
		&m.F258,
		&m.F259,
		&m.F260,
		&m.F261,
		&m.F262,
		&m.F263,
		&m.F264,
		&m.F265,
		&m.F266,
		&m.F267,
		&m.F268,
		&m.F269,
		&m.F270,
		&m.F271,
		&m.F272,
		&m.F273,
		&m.F274,
		&m.F275,
		&m.F276,
		&m.F277,
		&m.F278,
		&m.F279,
		&m.F280,
		&m.F281,
		&m.F282,
		&m.F283,
		&m.F284,
		&m.F285,
		&m.F286,
		&m.F287,
		&m.F288,
		&m.F289,
		&m.F290,
		&m.F291,
		&m.F292,
		&m.F293,
		&m.F294,
		&m.F295,
		&m.F296,
		&m.F297,
		&m.F298,
		&m.F299,
		&m.F300,
		&m.F301,
		&m.F302,
		&m.F303,
		&m.F304,
		&m.F305,
		&m.F306,
		&m.F307,
		&m.F308,
		&m.F309,
		&m.F310,
		&m.F311,
		&m.F312,
		&m.F313,
		&m.F314,
		&m.F315,
		&m.F316,
		&m.F317,
		&m.F318,
		&m.F319,
	}
}
